// One node of `npm run cluster`, which has built before. It ends with whoever holds the other end of its input, in
// whatever way that one ended.
import './supported-node.mjs';

process.env.UWS_HTTP_MAX_HEADERS_SIZE = process.env.UWS_HTTP_MAX_HEADERS_SIZE || '16384';
process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM'));
process.stdin.on('error', () => process.kill(process.pid, 'SIGTERM'));
process.stdin.resume();
// Waiting for that must not keep a node alive that has stopped.
process.stdin.unref();
const { run } = await import('../dist/src/app/command/main.js');
await run(process.argv.slice(2));
