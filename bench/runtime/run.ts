import { inProcess } from './in-process.js';
import { print } from './measure.js';

print(await inProcess());
