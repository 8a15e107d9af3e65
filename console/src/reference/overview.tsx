import { useDocument } from './context';
import type { Group } from './document';
import { MethodBadge } from './method-badge';
import { Inline, Prose } from './prose';
import { Section } from './section';

/** What holds for all operations, and the groups. */
export function Overview() {
  const document = useDocument();
  return (
    <article className="flex flex-col gap-6">
      <header className="flex flex-col gap-2">
        <h1>Troupe API</h1>
        <p className="text-sm text-muted">
          Version {document.version}, at <span className="font-mono">{location.origin}</span>. Generators of
          clients read{' '}
          <a className="text-accent underline" href="/openapi.json">
            /openapi.json
          </a>
          .
        </p>
        <div className="flex max-w-prose flex-col gap-2">
          <Prose text={document.introduction} />
        </div>
      </header>
      <Section title="Groups">
        <ul className="grid gap-2 sm:grid-cols-2 xl:grid-cols-3">
          {document.groups.map((group) => (
            <li key={group.name}>
              <a
                href={`#${group.name}`}
                className="flex h-full flex-col gap-1 rounded-md border border-line bg-surface px-3 py-2 hover:bg-hover"
              >
                <span className="font-medium">{group.title}</span>
                <span className="text-sm text-muted">
                  <Inline text={group.description} />
                </span>
              </a>
            </li>
          ))}
        </ul>
      </Section>
    </article>
  );
}

export function GroupPage({ group }: { readonly group: Group }) {
  return (
    <article className="flex flex-col gap-6">
      <header className="flex flex-col gap-2">
        <h1>{group.title}</h1>
        <p className="text-muted">
          <Inline text={group.description} />
        </p>
      </header>
      <ul className="divide-y divide-line rounded-md border border-line bg-surface">
        {group.operations.map(({ operationId, method, path, summary }) => (
          <li key={operationId}>
            <a
              href={`#${operationId}`}
              className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2 hover:bg-hover"
            >
              <MethodBadge method={method} />
              <span className="min-w-0 flex-1">{summary}</span>
              <code className="font-mono text-xs text-muted wrap-anywhere">{path}</code>
            </a>
          </li>
        ))}
      </ul>
    </article>
  );
}

export function ErrorsPage() {
  const { errors } = useDocument();
  return (
    <article className="flex flex-col gap-6">
      <header className="flex flex-col gap-2">
        <h1>Error codes</h1>
        <p className="max-w-prose text-muted">
          An answer above 399 has a code, a message that says what is wrong and what to do, and the id of the
          request in <code className="font-mono">X-Request-Id</code>. The interfaces of OpenAI's and
          Anthropic's clients and telemetry have the same codes in their own forms.
        </p>
      </header>
      <dl className="divide-y divide-line rounded-md border border-line bg-surface">
        {errors.map(([code, meaning]) => (
          <div key={code} className="flex flex-col gap-1 px-3 py-2">
            <dt className="font-mono text-sm font-semibold wrap-anywhere">{code}</dt>
            <dd className="text-sm text-muted">
              <Inline text={meaning} />
            </dd>
          </div>
        ))}
      </dl>
    </article>
  );
}
