import test from 'ava';
import { runProgram } from '../support/servers/program.js';

const parts = {
  DATABASE_URL: 'postgresql://troupe:secret@127.0.0.1:1/troupe',
  REDIS_URL: 'redis://127.0.0.1:1',
  TROUPE_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
};
const exposed = { TROUPE_GRPC_HOST: '0.0.0.0', TROUPE_ADVERTISE_ADDR: '10.0.0.7:9090' };

test('serve refuses unencrypted links to other machines and names the setting', async (t) => {
  const serve = runProgram('bin/troupe.mjs', ['serve'], { ...parts, ...exposed });
  t.is(await serve.ended, 1);
  t.regex(serve.output(), /TROUPE_GRPC_HOST makes this node listen on 0\.0\.0\.0, and TLS is not set up/);
  t.regex(
    serve.output(),
    /TROUPE_GRPC_TLS_CA.*TROUPE_GRPC_TLS_CERT.*TROUPE_GRPC_TLS_KEY.*TROUPE_GRPC_INSECURE=on/s,
  );
});

test("with the operator's consent serve starts, and the doctor reports unencrypted links", async (t) => {
  const environment = { ...parts, ...exposed, TROUPE_GRPC_INSECURE: 'on' };
  const serve = runProgram('bin/troupe.mjs', ['serve'], environment);
  t.is(await serve.ended, 1);
  t.regex(serve.output(), /the server in DATABASE_URL cannot be used/);
  const doctor = runProgram('bin/troupe.mjs', ['doctor'], environment);
  await doctor.ended;
  t.regex(doctor.output(), /warn +links between nodes: TROUPE_GRPC_INSECURE is on/);
});

test('the doctor reports links that serve would refuse', async (t) => {
  const doctor = runProgram('bin/troupe.mjs', ['doctor'], { ...parts, ...exposed });
  t.is(await doctor.ended, 1);
  t.regex(doctor.output(), /WRONG +links between nodes: .*TROUPE_GRPC_INSECURE=on/);
});
