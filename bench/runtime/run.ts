// npm run bench -- runtime, or: node --expose-gc dist/bench/runtime/run.js [in-process cross-node memory]
import { crossNode } from './cross-node.js';
import { inProcess } from './in-process.js';
import { print } from './measure.js';
import { memoryOfIdleActors } from './memory.js';

const parts = { 'in-process': inProcess, 'cross-node': crossNode, memory: memoryOfIdleActors };
const wanted = process.argv.slice(2);
for (const [name, part] of Object.entries(parts)) {
  if (wanted.length === 0 || wanted.includes(name)) print(await part());
}
process.exit(0);
