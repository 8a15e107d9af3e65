import { spokenProtocols, systemRandom, systemTime } from '../../../cluster/index.js';
import { runningVersions } from '../../infra/runtime/index.js';
import type { DatabaseFacts } from '../../infra/storage/index.js';
import { version } from '../../kernel/config/index.js';
import { reasonsOf } from './command.js';
import type { Finding } from './finding.js';

/** The version of this program, and what it can run beside. */
export function checkOwnVersion(): Finding {
  const { min, max } = spokenProtocols;
  return { what: 'Troupe', state: 'ok', says: `version ${version}, protocol ${max}, links with ${min} too` };
}

export function checkSchema({ schema, ownSchema }: Pick<DatabaseFacts, 'schema' | 'ownSchema'>): Finding {
  const what = 'schema';
  if (schema === 0) return { what, state: 'ok', says: `none yet; this version makes schema ${ownSchema}` };
  if (schema > ownSchema) {
    return {
      what,
      state: 'ok',
      says: `${schema} of a later release, beside which this version (schema ${ownSchema}) can run during an upgrade`,
    };
  }
  const says =
    schema === ownSchema ? `${schema}, as this version` : `${schema}; this version has schema ${ownSchema}`;
  return { what, state: 'ok', says };
}

/** The versions of the running nodes; several of them mean that an upgrade goes on. */
export async function checkNodes(settings: {
  readonly databaseUrl: string;
  readonly redisUrl: string;
}): Promise<Finding> {
  const what = 'nodes';
  try {
    const versions = await runningVersions({ ...settings, time: systemTime, random: systemRandom });
    if (versions.size === 0) return { what, state: 'ok', says: 'none runs' };
    const says = [...versions].map(([name, count]) => `${count} of version ${name}`).join(', ');
    if (versions.size === 1) return { what, state: 'ok', says };
    return {
      what,
      state: 'warning',
      says: `${says}: an upgrade goes on; bring all nodes to one version (docs/guides/upgrade.md)`,
    };
  } catch (error) {
    const reason = reasonsOf(error)[0] ?? String(error);
    return { what, state: 'warning', says: `their versions could not be read: ${reason}` };
  }
}
