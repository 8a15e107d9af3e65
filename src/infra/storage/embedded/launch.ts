// How PostgreSQL's programs are started.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type Launch = {
  /** The command before each program: it removes privileges that the program must not inherit. */
  readonly prefix: readonly string[];
  /** The path of the data directory for a program that runs inside it. */
  readonly dataName: (data: string) => string;
};

const nothingInherited = ['setpriv', '--no-new-privs', '--inh-caps=-all', '--ambient-caps=-all'];

/**
 * `changedAccount`: the keeper has switched to another account, which may not be able to reach the data by its path. Its
 * working directory is already there, and Linux has a name for it.
 */
export async function planLaunch(changedAccount: boolean): Promise<Launch> {
  const isLinux = process.platform === 'linux';
  return {
    prefix: isLinux && (await works(nothingInherited)) ? nothingInherited : [],
    dataName: isLinux && changedAccount ? () => '/proc/self/cwd' : (data) => data,
  };
}

/** Busybox has a different `setpriv`, and some systems have none. It is only a second line of defence. */
async function works([command = '', ...words]: readonly string[]): Promise<boolean> {
  return run(command, [...words, 'true']).then(
    () => true,
    () => false,
  );
}
