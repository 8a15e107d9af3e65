// One node of `npm run cluster`, which has built the code already. The node stops when its standard input closes, so
// it never outlives the process that started it.
import './supported-node.mjs';
import './header-size.mjs';

process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM'));
process.stdin.on('error', () => process.kill(process.pid, 'SIGTERM'));
process.stdin.resume();
// The open input must not keep a stopped node alive.
process.stdin.unref();
const { run } = await import('../dist/src/app/command/main.js');
await run(process.argv.slice(2));
