// The health check of a container: exits with 0 if the node of this machine is ready, and with 1 and a reason if not.
import './supported-node.mjs';

const port = process.env.TROUPE_HTTP_PORT || '8080';
try {
  const answer = await fetch(`http://127.0.0.1:${port}/health/ready`, { signal: AbortSignal.timeout(2_500) });
  if (!answer.ok) fail(`${answer.status} ${(await answer.text()).slice(0, 500)}`);
} catch (error) {
  fail(error instanceof Error ? error.message : String(error));
}

/** @param {string} reason */
function fail(reason) {
  process.stderr.write(`not ready: ${reason}\n`);
  process.exit(1);
}
