import { useQuery } from '@tanstack/react-query';
import { createLazyRoute, Link } from '@tanstack/react-router';
import { RefreshCw } from 'lucide-react';
import { useState } from 'react';
import type { paths } from '#api/openapi';
import { take } from '../../api/client';
import { Button } from '../../ui/button';
import { CopyAs } from '../../ui/copy-as';
import { type Column, DataTable } from '../../ui/data-table';
import { Dialog } from '../../ui/dialog';
import { Filters, FilterSelect, FilterText } from '../../ui/filters';
import { count } from '../../ui/numbers';
import { Page } from '../../ui/page';
import { Empty, Loaded } from '../../ui/states';
import { Time } from '../../ui/time';
import { ErrorFacts } from '../errors/error-facts';
import { shortName } from './cluster/cluster-data';
import { operatorApi, operatorKey } from './operator-session';
import type { OperatorErrorsSearch } from './routes';

export const Route = createLazyRoute('/operator/errors')({ component: Errors });

type OperatorError =
  paths['/api/v1/operator/errors']['get']['responses'][200]['content']['application/json']['data'][number];

const refreshEveryMs = 5_000;
const stepRows = 100;

/** The last errors of all nodes and all tenants. */
function Errors() {
  const { error, ...filter } = Route.useSearch();
  const navigate = Route.useNavigate();
  const query = useQuery({
    queryKey: operatorKey('errors'),
    queryFn: ({ signal }) => take(operatorApi.GET('/api/v1/operator/errors', { signal })),
    refetchInterval: refreshEveryMs,
  });
  const open = (next: OperatorErrorsSearch): void =>
    void navigate({ search: { ...filter, ...next }, replace: true });
  return (
    <Page
      title="Errors"
      description="The last 1,000 of all nodes, whoever they concern."
      actions={
        <>
          <CopyAs request={{ method: 'GET', path: '/api/v1/operator/errors', operator: true }} />
          <Button icon={<RefreshCw size={14} aria-hidden />} onClick={() => void query.refetch()}>
            Refresh
          </Button>
        </>
      }
    >
      <Loaded query={query}>
        {({ data }) => (
          <>
            <ErrorFilters errors={data} filter={filter} open={open} />
            <List
              key={JSON.stringify(filter)}
              errors={matching(data, filter)}
              onOpen={(id) => open({ error: id })}
            />
            {error !== undefined && (
              <Details error={data.find(({ id }) => id === error)} onClose={() => open({})} />
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Words find the request, the tenant, the execution and the operation. */
function matching(
  errors: readonly OperatorError[],
  { code, node, words = '' }: OperatorErrorsSearch,
): readonly OperatorError[] {
  const text = words.trim().toLowerCase();
  return errors.filter(
    (one) =>
      (code === undefined || one.error === code) &&
      (node === undefined || one.node === node) &&
      [one.request_id, one.tenant, one.execution_id, one.operation, one.agent_id, one.trigger_id].some(
        (value) => text === '' || (value ?? '').toLowerCase().includes(text),
      ),
  );
}

const unique = (values: readonly string[], chosen: string | undefined): readonly string[] =>
  [...new Set([...values, ...(chosen === undefined ? [] : [chosen])])].toSorted();

function ErrorFilters({
  errors,
  filter: { code, node, words },
  open,
}: {
  readonly errors: readonly OperatorError[];
  readonly filter: OperatorErrorsSearch;
  readonly open: (next: OperatorErrorsSearch) => void;
}) {
  const codes = unique(
    errors.map((one) => one.error),
    code,
  );
  const nodes = unique(
    errors.map((one) => one.node),
    node,
  );
  return (
    <Filters>
      <FilterSelect label="Code" value={code} options={codes} onChange={(next) => open({ code: next })} />
      <FilterSelect
        label="Node"
        value={node}
        options={nodes.map((one) => [one, shortName(one)])}
        onChange={(next) => open({ node: next })}
      />
      <FilterText
        label="Request, tenant, execution"
        value={words}
        onChange={(next) => open({ words: next })}
      />
    </Filters>
  );
}

function List({
  errors,
  onOpen,
}: {
  readonly errors: readonly OperatorError[];
  readonly onOpen: (id: string) => void;
}) {
  const [shown, setShown] = useState(stepRows);
  if (errors.length === 0) {
    return (
      <Empty title="No error matches">
        <p>Refused requests and failed turns of all tenants are listed here.</p>
      </Empty>
    );
  }
  return (
    <div className="flex flex-col gap-3">
      <DataTable
        caption="Errors"
        columns={columnsOf(onOpen)}
        rows={errors.slice(0, shown)}
        keyOf={({ id }) => id}
      />
      {errors.length > shown && (
        <Button className="self-center" onClick={() => setShown(shown + stepRows)}>
          {`Show more of ${count(errors.length)}`}
        </Button>
      )}
    </div>
  );
}

function columnsOf(onOpen: (id: string) => void): readonly Column<OperatorError>[] {
  return [
    {
      title: 'Error',
      cell: ({ id, error, message }) => (
        <button
          type="button"
          className="flex flex-col text-left wrap-anywhere hover:underline"
          onClick={() => onOpen(id)}
        >
          <span className="font-mono text-accent">{error}</span>
          <span className="text-xs font-normal text-muted">{message}</span>
        </button>
      ),
    },
    {
      title: 'At',
      wideOnly: true,
      cell: ({ operation }) => <span className="font-mono text-xs wrap-anywhere">{operation ?? '—'}</span>,
    },
    { title: 'Tenant', wideOnly: true, cell: ({ tenant }) => <TenantLink id={tenant} /> },
    {
      title: 'Node',
      wideOnly: true,
      cell: ({ node }) => (
        <span className="font-mono text-xs wrap-anywhere" title={node}>
          {shortName(node)}
        </span>
      ),
    },
    { title: 'When', cell: ({ timestamp }) => <Time at={timestamp} /> },
  ];
}

function TenantLink({ id }: { readonly id: string | null }) {
  if (id === null) return <span className="text-muted">none</span>;
  return (
    <Link
      to="/operator/tenants"
      search={{ tenant: id }}
      className="font-mono text-xs wrap-anywhere text-accent hover:underline"
    >
      {id.slice(0, 8)}
    </Link>
  );
}

function Details({
  error,
  onClose,
}: {
  readonly error: OperatorError | undefined;
  readonly onClose: () => void;
}) {
  return (
    <Dialog open onClose={onClose} title={error?.error ?? 'Error'} wide>
      {error === undefined ? (
        <Empty title="The error is not listed any more">
          <p>Only the last 1,000 are kept for operators.</p>
        </Empty>
      ) : (
        <ErrorFacts error={error} more={[['Tenant', <TenantLink key="tenant" id={error.tenant} />]]} />
      )}
    </Dialog>
  );
}
