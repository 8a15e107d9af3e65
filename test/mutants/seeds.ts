// Runs simulated clusters until one violates a guarantee: seeds.js members|cluster|quota|conversations <first> <count>. Prints the verdict.
import { runConversations } from '../simulation/conversations/run.js';
import { runMembers } from '../simulation/member-run.js';
import { runQuota } from '../simulation/quota-run.js';
import { run } from '../simulation/run.js';

const [what = '', first = '', count = ''] = process.argv.slice(2);
const last = Number(first) + Number(count) - 1;
let verdict: { readonly seed: number; readonly violation: string } | undefined;
for (let seed = Number(first); seed <= last && verdict === undefined; seed += 1) {
  const violations = await violationsOf(seed);
  if (violations[0] !== undefined) verdict = { seed, violation: violations[0] };
}
process.stdout.write(`${JSON.stringify(verdict ?? {})}\n`);
process.exit(0);

/** A mutant may also throw, which is a violation like any other. */
async function violationsOf(seed: number): Promise<readonly string[]> {
  try {
    if (what === 'members') return (await runMembers({ seed })).violations;
    if (what === 'conversations') return (await runConversations({ seed })).violations;
    return (await (what === 'quota' ? runQuota({ seed }) : run({ seed }))).violations;
  } catch (error) {
    return [String(error)];
  }
}
