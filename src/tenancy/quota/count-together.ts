import type { Time } from '../../../cluster/index.js';
import type { LocalAdmission } from './admission.js';
import type { QuotaCommits } from './quota.actor.js';
import { NodeQuotas, type QuotaActors } from './quota-host.js';
import { QuotaRequests } from './quota-requests.js';
import type { QuotaRows } from './quota-rows.store.js';
import type { Residents } from './residents.js';
import { SharedAdmission } from './shared-admission.js';
import type { CostRows } from './cost-rows.js';
import { SharedCosts } from './costs.js';
import { SharedTokens } from './tokens.js';

/** The parts that let all nodes share one count: the actors of this node, and the requests to those of others. */
export function countTogether(parts: {
  readonly actors: QuotaActors;
  readonly commits: QuotaCommits;
  readonly counts: LocalAdmission;
  readonly residents: Residents;
  readonly rows: QuotaRows;
  readonly costRows: CostRows;
  readonly time: Time;
  readonly report: (attempted: string, error: unknown) => void;
}) {
  const { actors, counts, residents, time, report } = parts;
  const quotas = new NodeQuotas(parts);
  const questions = new QuotaRequests({ time, report, quotaOf: (tenantId) => quotas.quotaOf(tenantId) });
  return {
    admission: new SharedAdmission(counts, residents, questions),
    tokens: new SharedTokens(quotas, residents, questions, actors.process),
    costs: new SharedCosts(quotas, residents, questions, actors.process),
    flush: async () => {
      await Promise.all([questions.flush(), quotas.flush()]);
    },
    stop: () => quotas.stop(),
  };
}
