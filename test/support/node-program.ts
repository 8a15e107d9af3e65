// One node as `troupe serve` runs it, without the build that the command does first.
process.env['UWS_HTTP_MAX_HEADERS_SIZE'] ??= '16384';
const { run } = await import('../../src/command/main.js');
await run(process.argv.slice(2));
