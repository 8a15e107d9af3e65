import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { type HotReads, type HotStatement, sql, type TenantTransaction } from '../../infra/storage/index.js';

const mailDomainRow = z.object({
  id: z.uuid(),
  domain: z.string(),
  token: z.string(),
  verified_at: z.date().nullable(),
  created_at: z.date(),
});

export type MailDomainRow = z.output<typeof mailDomainRow>;

const columns = sql.fragment`id, domain, token, verified_at, created_at`;

export interface NewMailDomain {
  readonly id: string;
  readonly domain: string;
  readonly token: string;
  readonly createdBy: string;
  readonly createdAt: Date;
}

/** Null if the tenant already has the domain. */
export function insertMailDomain(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  { id, domain, token, createdBy, createdAt }: NewMailDomain,
): Promise<MailDomainRow | null> {
  return tx.maybeOne(sql.type(mailDomainRow)`
    insert into mail_domains (tenant_id, id, domain, token, created_by, created_at)
    values (${tenantId}, ${id}, ${domain}, ${token}, ${createdBy}, ${sql.timestamp(createdAt)})
    on conflict (tenant_id, domain) do nothing returning ${columns}`);
}

export function countMailDomains({ tenantId }: TenantScope, tx: TenantTransaction): Promise<number> {
  return tx.oneFirst(sql.typeAlias('count')`
    select count(*) as count from mail_domains where tenant_id = ${tenantId}`);
}

/** Newest first. */
export function listMailDomains(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
): Promise<readonly MailDomainRow[]> {
  return tx.any(sql.type(mailDomainRow)`
    select ${columns} from mail_domains where tenant_id = ${tenantId} order by created_at desc, id desc`);
}

export function findMailDomain(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  id: string,
): Promise<MailDomainRow | null> {
  return tx.maybeOne(sql.type(mailDomainRow)`
    select ${columns} from mail_domains where tenant_id = ${tenantId} and id = ${id}`);
}

/** Null if the row is gone. Violates `mail_domains_proved` if another tenant has verified the domain. */
export function markVerified(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  id: string,
  at: Date,
): Promise<MailDomainRow | null> {
  return tx.maybeOne(sql.type(mailDomainRow)`
    update mail_domains set verified_at = coalesce(verified_at, ${sql.timestamp(at)})
    where tenant_id = ${tenantId} and id = ${id} returning ${columns}`);
}

export function deleteMailDomain(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  id: string,
): Promise<MailDomainRow | null> {
  return tx.maybeOne(sql.type(mailDomainRow)`
    delete from mail_domains where tenant_id = ${tenantId} and id = ${id} returning ${columns}`);
}

const ownerRow = z.object({ tenant_id: z.uuid() });

const byDomain: HotStatement<z.output<typeof ownerRow>> = {
  name: 'mail_domain_owner',
  text: 'select tenant_id from mail_domains where domain = $1 and verified_at is not null',
  row: ownerRow,
};

/** The tenant that has verified the domain. */
export async function tenantOfDomain(reads: HotReads, domain: string): Promise<string | undefined> {
  const [owner] = await reads.directory(byDomain, [domain]);
  return owner?.tenant_id;
}
