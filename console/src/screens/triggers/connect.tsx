import { Code } from '../../ui/json-view';
import { Card } from '../../ui/page';
import { Time } from '../../ui/time';
import { ChannelSettings } from './channel-settings';
import { settingAt } from './config';
import type { TriggerType } from './routes';
import type { Config } from './types';

/** What to paste on the other side, by the type of the trigger and its channel. */
export function Connect({
  id,
  type,
  url,
  config,
  nextRuns = [],
}: {
  readonly id: string;
  readonly type: TriggerType;
  readonly url: string | undefined;
  readonly config: Config;
  readonly nextRuns?: readonly string[];
}) {
  if (type === 'schedule') return <NextRuns runs={nextRuns} />;
  if (type === 'email') return <MailAddress id={id} config={config} />;
  if (type === 'db_event') {
    return (
      <Card title="Nothing to do">
        <p className="text-sm">The node looks at the table by itself. New rows are in the executions.</p>
      </Card>
    );
  }
  const address = url ?? `${location.origin}/api/triggers/webhook/${id}`;
  const channel = settingAt(config, 'channel.type');
  if (typeof channel === 'string') return <ChannelSettings channel={channel} address={address} />;
  const auth = settingAt(config, 'auth.type');
  return (
    <Card title="Send a request">
      <div className="flex flex-col gap-3">
        <Code
          text={curlOf(address, typeof auth === 'string' ? auth : 'signature')}
          label="request with curl"
        />
        <p className="text-sm text-muted">
          {auth === 'api_key'
            ? 'The key is one of the tenant.'
            : auth === 'none'
              ? 'Everybody who knows the address can start the agent.'
              : 'The signature is an HMAC with SHA-256 over the body, with the secret that was shown at the creation.'}
        </p>
      </div>
    </Card>
  );
}

const sample = '{"message": "Hello"}';

function curlOf(address: string, auth: string): string {
  const json = `-H 'Content-Type: application/json'`;
  if (auth === 'none') return `curl -X POST '${address}' ${json} -d '${sample}'`;
  if (auth === 'api_key') {
    return `curl -X POST '${address}' \\\n  -H "X-Api-Key: $TROUPE_API_KEY" ${json} \\\n  -d '${sample}'`;
  }
  return [
    `body='${sample}'`,
    `signature=$(printf %s "$body" | openssl dgst -sha256 -hmac "$WEBHOOK_SECRET" | sed 's/^.* //')`,
    `curl -X POST '${address}' \\`,
    `  -H "X-Webhook-Signature: sha256=$signature" ${json} \\`,
    `  -d "$body"`,
  ].join('\n');
}

function MailAddress({ id, config }: { readonly id: string; readonly config: Config }) {
  const host = settingAt(config, 'imap.host');
  const address = settingAt(config, 'address');
  return (
    <Card title="Where mail goes">
      {typeof host === 'string' ? (
        <p className="text-sm">New mail in the mailbox of {host} starts the agent.</p>
      ) : (
        <div className="flex flex-col gap-2">
          <Code
            text={typeof address === 'string' ? address : `${id}@<mail domain of the node>`}
            label="address"
          />
          <p className="text-sm text-muted">
            The domain is that of the installation (TROUPE_MAIL_DOMAIN); its MX record leads to a node.
          </p>
        </div>
      )}
    </Card>
  );
}

function NextRuns({ runs }: { readonly runs: readonly string[] }) {
  return (
    <Card title="Next runs">
      {runs.length === 0 ? (
        <p className="text-sm text-muted">They are shown at the trigger while it is on.</p>
      ) : (
        <ol className="flex flex-col gap-1 text-sm">
          {runs.map((at) => (
            <li key={at} className="flex gap-3">
              <Time at={at} exactly />
              <span className="text-muted">
                <Time at={at} />
              </span>
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}
