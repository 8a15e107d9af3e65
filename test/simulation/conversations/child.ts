// One process of `runConversationSeeds`: takes its seeds as an argument and sends back its summary.
import type { Range } from '../many.js';
import { runConversationRange } from './many.js';

const range: Range = JSON.parse(process.argv[2] ?? '{}');
const summary = await runConversationRange(range);
process.send?.(summary, () => process.exit(0));
