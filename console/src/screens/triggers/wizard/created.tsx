import { Link } from '@tanstack/react-router';
import { buttonClass } from '../../../ui/button';
import { Code } from '../../../ui/json-view';
import { Card, Page } from '../../../ui/page';
import { Connect } from '../connect';
import type { Config } from '../types';
import type { Kind } from './kinds';

export interface Made {
  readonly id: string;
  readonly secret: string | undefined;
  readonly url: string | undefined;
  readonly kind: Kind;
  readonly config: Config;
}

/** The secret is shown this once; beside it what to paste on the other side. */
export function Created({ made: { id, secret, url, kind, config } }: { readonly made: Made }) {
  return (
    <Page
      title="The trigger is ready"
      description="What the other side needs to know:"
      actions={
        <Link
          to="/triggers/$triggerId"
          params={{ triggerId: id }}
          search={{ tab: 'try' }}
          className={buttonClass('primary')}
        >
          Go to the trigger
        </Link>
      }
    >
      <div className="flex max-w-3xl flex-col gap-4">
        {secret !== undefined && (
          <Card title="Webhook secret">
            <p className="mb-2 text-sm text-warn">It is shown only now. Keep it where your program runs.</p>
            <Code text={secret} label="secret" />
          </Card>
        )}
        <Connect id={id} type={kind.type} url={url} config={config} />
      </div>
    </Page>
  );
}
