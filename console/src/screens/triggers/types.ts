import type { paths } from '#api/openapi';
import type { TriggerType } from './routes';

type Answer<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body } } } };
}
  ? Body
  : never;

export type Trigger = Answer<'/api/triggers/{id}'>['data'];
export type Execution = Answer<'/api/triggers/{id}/executions'>['data'][number];
export type ExecutionDetail = Answer<'/api/triggers/{id}/executions/{executionId}'>['data'];
export type Delivery = Answer<'/api/v1/deliveries'>['data'][number];
export type Config = Readonly<Record<string, unknown>>;

export const typeNames: Readonly<Record<TriggerType, string>> = {
  webhook: 'Webhook',
  email: 'Mail',
  db_event: 'Database event',
  schedule: 'Schedule',
};
