// A turn with bindings that waits for a person: they are sealed while it waits, and gone at its end.
import { randomBytes } from 'node:crypto';
import test from 'ava';
import { calling, saying } from '../support/builders/tool-turns.js';
import { httpTool } from '../support/builders/published-agents.js';
import { openAiAt, startVendor } from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import { dump, ownerView } from '../support/database/owner-view.js';
import { startConversations } from '../support/servers/conversations.js';
import { startTestNode } from '../support/servers/node.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

for (const decision of ['approve', 'cancel'] as const) {
  test(`a turn with bindings waits over a restart: ${decision}`, async (t) => {
    const vendor = await startVendor(t, new OpenAiServer());
    vendor.script(calling(['pay', { amount: 5 }]), saying('Paid.'));
    const first = await startTestNode(t, { environment: openAiAt(vendor) });
    const key = first.bootstrap.api_key;
    const talk = await startConversations(first);
    const http = await startToolServer(t, (_, response) => answerJson(response, { paid: true }));
    const tool = httpTool('pay', `${http.url}/pay`, { headers: { 'X-Account': '${context.account}' } });
    const { editor_schema: editor } = tool as { readonly editor_schema: object };
    const agentId = await talk.agent('openai.gpt-4.1-mini', {}, [
      { ...tool, editor_schema: { ...editor, approval: 'always' } },
    ]);
    const account = `planted${randomBytes(12).toString('hex')}`;
    const seen: Record<string, unknown> = {};
    const body = { message: 'pay it', bindings: { account } };
    talk.say(body, { agentId, onEvent: ({ data }) => void Object.assign(seen, data) }).catch(() => undefined);
    await eventually(() => seen['approval_id'] !== undefined);
    const { approval_id: approval, execution_id: execution, session_id: session } = seen;
    const owner = await ownerView(first.databaseUrl);
    t.teardown(() => owner.end());
    const sealed = async () =>
      (await owner.query('select sealed_bindings from executions where id = $1', [execution])).rows[0];
    t.is(typeof (await sealed()).sealed_bindings, 'string');
    const waiting = await dump(owner);
    await first.stop();

    const second = await startTestNode(t, {
      environment: openAiAt(vendor),
      databaseUrl: first.databaseUrl,
      dataDir: first.dataDir,
    });
    const decided =
      decision === 'approve'
        ? await second.client.call('POST', `/api/v1/approvals/${String(approval)}`, {
            key,
            body: { decision },
          })
        : await second.client.call('POST', `/api/v1/sessions/${String(session)}/cancel`, { key, body: {} });
    t.is(decided.status, 200, decided.text);
    const ended = await eventually(async () => {
      const { json } = await second.client.call('GET', `/api/v1/executions/${String(execution)}`, { key });
      return json.data.outcome === null ? undefined : json.data;
    });
    t.is(ended.outcome, decision === 'approve' ? 'COMPLETED' : 'CANCELLED');
    t.deepEqual(
      http.heard.map(({ headers }) => headers['x-account']),
      decision === 'approve' ? [account] : [],
    );
    t.deepEqual(await sealed(), { sealed_bindings: null });
    const after = await dump(owner);
    const model = JSON.stringify(vendor.requests.map(({ body: asked }) => asked));
    const bytes = Buffer.from(account);
    for (const form of [account, bytes.toString('hex'), bytes.toString('base64').slice(0, 32)]) {
      for (const [place, text] of Object.entries({ waiting, after, model, log: first.log() + second.log() }))
        t.false(text.includes(form), `${form} is in ${place}`);
    }
  });
}
