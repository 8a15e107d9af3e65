import type { Platform } from '../infra/platform/index.js';
import { PlatformError } from '../kernel/errors.js';
import { agentsMax, recordMadeAgent, refusingTakenName } from './agents.js';
import { type AgentRow, countAgents, insertAgent, takenNames } from './agents.store.js';
import type { Author } from './author.js';
import { agentName } from './document.js';
import { putSchema } from './schemas/schemas.store.js';
import { readWorkingCopy } from './working-copy.js';

const nameLengthMax = 100;

/**
 * Copies an agent's working copy and its schemas into a new draft. The approved secret destinations are copied too,
 * because they were approved for this same content.
 */
export function duplicateAgent(
  { store, ids }: Pick<Platform, 'store' | 'ids'>,
  author: Author,
  id: string,
  wanted: string | undefined,
): Promise<AgentRow> {
  const { scope } = author;
  return refusingTakenName(wanted ?? 'of the copy', () =>
    store.inTenant(scope, async (tx) => {
      const { agent, schemas } = await readWorkingCopy(scope, tx, id);
      if ((await countAgents(scope, tx)) >= agentsMax) {
        throw new PlatformError('conflict', { message: `A tenant holds at most ${agentsMax} agents.` });
      }
      const stem = `${agent.document.name.slice(0, nameLengthMax - 9)}-copy`;
      const name = wanted ?? freeName(stem, await takenNames(scope, tx, stem));
      const copy = await insertAgent(scope, tx, {
        id: ids.uuid(),
        document: { ...agent.document, name: agentName.parse(name) },
        createdBy: author.id,
      });
      for (const { document, approved, tools, tools_read_at: toolsReadAt } of schemas) {
        await putSchema(scope, tx, copy.id, {
          id: ids.uuid(),
          document,
          approved,
          tools,
          toolsReadAt,
          createdBy: author.id,
        });
      }
      await recordMadeAgent(tx, author, copy, 'agent.duplicated');
      return copy;
    }),
  );
}

/** Returns `stem`, or the first free name of `stem-2`, `stem-3` … */
function freeName(stem: string, taken: readonly string[]): string {
  const names = new Set(taken);
  if (!names.has(stem.toLowerCase())) return stem;
  let number = 2;
  while (names.has(`${stem}-${number}`.toLowerCase())) number += 1;
  return `${stem}-${number}`;
}
