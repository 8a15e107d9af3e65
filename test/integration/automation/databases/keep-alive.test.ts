import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import test from 'ava';
import { systemTime } from '../../../../cluster/index.js';
import { DatabaseConnection } from '../../../../src/automation/databases/connection/database-connection.js';
import { SecretValue } from '../../../../src/tenancy/vault/index.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { startShop } from '../../../support/servers/databases.js';

databaseOfFile(test);

test('TCP probes a silent connection, so that one whose other end is gone does end', async (t) => {
  const { place } = await startShop(t);
  const asked: unknown[] = [];
  const connectGuarded = async (host: string, port: number): Promise<Socket> => {
    const socket = connect(port, host);
    await once(socket, 'connect');
    const { setKeepAlive } = socket;
    socket.setKeepAlive = (...given) => {
      asked.push(given);
      return setKeepAlive.apply(socket, given);
    };
    return socket;
  };
  const startTls = () => Promise.reject(new Error('without TLS'));
  const target = { ...place, password: new SecretValue(place.password) };
  const connection = await DatabaseConnection.open(
    { egress: { connectGuarded, startTls }, time: systemTime },
    target,
    new AbortController().signal,
  );
  t.teardown(() => connection.close());
  t.deepEqual(asked, [[true, 30_000]]);
});
