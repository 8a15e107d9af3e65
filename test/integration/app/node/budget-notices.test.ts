import { randomUUID } from 'node:crypto';
import test from 'ava';
import { budgetNotices } from '../../../../src/app/node/budget-notices.js';
import { sql } from '../../../../src/infra/storage/index.js';
import { addMember, registerPerson } from '../../../support/builders/people.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { type IdentityNode, publicUrl, startIdentityNode } from '../../../support/servers/identity.js';

const database = databaseOfFile(test);
let node: IdentityNode;

test.before(async () => {
  node = await startIdentityNode(database.url);
  database.atEnd(() => node.close());
});

test('where addresses are verified, only owners with a verified one get mails about budgets', async (t) => {
  const owner = await registerPerson(node.api);
  const second = await addMember(node, owner.tenantId, 'owner');
  await addMember(node, owner.tenantId, 'admin');
  const { scope } = await node.identity.membershipOf(owner.id, owner.tenantId);
  const told = async (verifiedOnly: boolean): Promise<readonly string[]> => {
    const recipients: string[] = [];
    const queue = async (_: unknown, { to }: { readonly to: string }): Promise<string> => {
      recipients.push(to);
      return randomUUID();
    };
    const tell = budgetNotices({
      mail: { queue, wake: () => undefined },
      publicUrl: () => publicUrl,
      verifiedOnly,
    });
    await node.store.inTenant(scope, (tx) =>
      tell(tx, {
        budget: { scope: 'tenant', id: owner.tenantId, limit: 10, period: 'month' },
        percent: 80,
        spent: 8,
      }),
    );
    return recipients;
  };
  t.deepEqual(await told(false), [owner.email, second.email].toSorted());
  t.deepEqual(await told(true), []);
  await node.store.directory((tx) =>
    tx.query(sql.typeAlias('nothing')`update users set email_verified_at = now() where id = ${second.id}`),
  );
  t.deepEqual(await told(true), [second.email]);
});
