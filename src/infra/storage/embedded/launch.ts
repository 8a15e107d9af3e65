// How PostgreSQL's programs are started.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type Launch = {
  /** Words before each program: they take away what the program must not inherit. */
  readonly prefix: readonly string[];
  /** What a program calls its data directory, which is its working directory. */
  readonly dataName: (data: string) => string;
};

const nothingInherited = ['setpriv', '--no-new-privs', '--inh-caps=-all', '--ambient-caps=-all'];

/**
 * `changedAccount`: the keeper became another account than the node's, which may not be able to walk down to the data
 * by name. It stands there already, and Linux has a name for that.
 */
export async function planLaunch(changedAccount: boolean): Promise<Launch> {
  const isLinux = process.platform === 'linux';
  return {
    prefix: isLinux && (await works(nothingInherited)) ? nothingInherited : [],
    dataName: isLinux && changedAccount ? () => '/proc/self/cwd' : (data) => data,
  };
}

/** Busybox has another `setpriv`, and some systems have none. What it takes away is a second wall. */
async function works([command = '', ...words]: readonly string[]): Promise<boolean> {
  return run(command, [...words, 'true']).then(
    () => true,
    () => false,
  );
}
