/** Events that a tenant's users receive at once, in the form that clients read. */
export type RealtimeEvent =
  | {
      readonly type: 'session_control_changed';
      readonly data: {
        readonly session_id: string;
        readonly control_mode: string;
        readonly kind: string | null;
        /** The previous mode. */
        readonly previous: string;
        readonly by: string | null;
        readonly reason: string | null;
      };
    }
  | {
      readonly type: 'consumer_denylist_changed';
      readonly data: { readonly consumer_key: string; readonly blocked: boolean; readonly by: string };
    }
  | {
      readonly type: 'manual_message_sent';
      readonly data: { readonly session_id: string; readonly message_id: string; readonly by: string };
    }
  | {
      readonly type: 'budget_threshold';
      readonly data: {
        readonly scope: 'key' | 'tenant' | 'agent';
        readonly id: string;
        readonly percent: number;
        readonly spent_usd: number;
        readonly limit_usd: number;
      };
    }
  | {
      readonly type: 'approval_requested';
      readonly data: {
        readonly approval_id: string;
        readonly session_id: string;
        readonly execution_id: string;
        readonly tool: string;
        readonly expires_at: string;
      };
    }
  | {
      readonly type: 'approval_decided';
      readonly data: {
        readonly approval_id: string;
        readonly session_id: string;
        readonly execution_id: string;
        readonly tool: string;
        readonly decision: 'approve' | 'deny';
        readonly by: string;
      };
    }
  | {
      readonly type: 'turn_cancelled';
      readonly data: { readonly session_id: string; readonly execution_id: string; readonly by: string };
    };

/** An event as it is stored. */
export interface StoredEvent {
  /** Rises with each event of a tenant, with gaps. */
  readonly number: number;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly at: Date;
}

/** The event as readers receive it. A client that reconnects sends the last `id` that it has. */
export interface Envelope {
  readonly id: string;
  readonly type: string;
  readonly tenant_id: string;
  readonly at: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export function envelopeOf(tenantId: string, { number, type, data, at }: StoredEvent): Envelope {
  return { id: String(number), type, tenant_id: tenantId, at: at.toISOString(), data };
}
