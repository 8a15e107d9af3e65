import { Code } from '../../ui/json-view';
import { Card } from '../../ui/page';

interface Way {
  readonly steps: readonly string[];
  /** What is pasted there whole. */
  readonly paste?: { readonly label: string; readonly text: (address: string) => string };
  /** The same by a request to the vendor. */
  readonly curl: ((address: string) => string) | undefined;
}

/** The app that the steps of the guide make by hand, with the least scopes that answers need. */
const slackManifest = (address: string) => ({
  display_information: { name: 'Assistant' },
  features: {
    app_home: { messages_tab_enabled: true, messages_tab_read_only_enabled: false },
    bot_user: { display_name: 'Assistant', always_online: true },
  },
  oauth_config: { scopes: { bot: ['app_mentions:read', 'chat:write', 'im:history'] } },
  settings: { event_subscriptions: { request_url: address, bot_events: ['app_mention', 'message.im'] } },
});

const ways: Readonly<Record<string, Way>> = {
  slack: {
    steps: [
      'Open your app at api.slack.com/apps and go to App Manifest.',
      'Paste this manifest, and give the app your own name. It subscribes to mentions and direct messages.',
      'Save. Slack asks the address once whether it answers; then install the app again.',
    ],
    paste: { label: 'manifest', text: (address) => JSON.stringify(slackManifest(address), null, 2) },
    curl: undefined,
  },
  whatsapp_cloud: {
    steps: [
      'Open your app at developers.facebook.com and go to WhatsApp, Configuration.',
      'Paste the address as Callback URL and the webhook secret of this trigger as Verify token.',
      'Subscribe to the field messages.',
    ],
    curl: (address) =>
      [
        `curl -X POST "https://graph.facebook.com/v21.0/$META_APP_ID/subscriptions" \\`,
        `  -d object=whatsapp_business_account -d fields=messages \\`,
        `  --data-urlencode 'callback_url=${address}' \\`,
        `  --data-urlencode "verify_token=$WEBHOOK_SECRET" \\`,
        `  --data-urlencode "access_token=$META_APP_ID|$META_APP_SECRET"`,
      ].join('\n'),
  },
  twilio: {
    steps: [
      'Open the number in the console of Twilio and go to Messaging configuration.',
      'Paste the address at "A message comes in", with the method HTTP POST.',
      'Save. Twilio signs its requests with the auth token of your secret.',
    ],
    curl: (address) =>
      [
        `curl -X POST "https://api.twilio.com/2010-04-01/Accounts/$ACCOUNT_SID/IncomingPhoneNumbers/$NUMBER_SID.json" \\`,
        `  -u "$ACCOUNT_SID:$AUTH_TOKEN" -d SmsMethod=POST \\`,
        `  --data-urlencode 'SmsUrl=${address}'`,
      ].join('\n'),
  },
};

/** What a vendor of messages needs to know: the address, the steps, and what can be pasted whole. */
export function ChannelSettings({
  channel,
  address,
}: {
  readonly channel: string;
  readonly address: string;
}) {
  const way = ways[channel];
  return (
    <Card title="Settings of the channel">
      <div className="flex flex-col gap-3">
        <Code text={address} label="address" />
        <ol className="list-decimal pl-5 text-sm">
          {way?.steps.map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
        {way?.paste !== undefined && <Code text={way.paste.text(address)} label={way.paste.label} />}
        {way?.curl !== undefined && (
          <>
            <p className="text-sm text-muted">Or by a request:</p>
            <Code text={way.curl(address)} label="request with curl" />
          </>
        )}
      </div>
    </Card>
  );
}
