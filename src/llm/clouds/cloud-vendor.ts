import type { ModelEntry } from '../catalogue/model.js';
import type { Credential } from '../routing/plan.js';
import type { VendorAdapter } from '../vendor.js';
import type { Family } from '../wire/field-table.js';

/** A vendor of the operator's vendors file: models that a cloud serves under the operator's own contract. */
export interface CloudVendor {
  readonly name: string;
  readonly family: Family;
  readonly adapter: VendorAdapter;
  readonly credentials: readonly Credential[];
  readonly models: readonly ModelEntry[];
}

/** A secret of the vendors file: the file names where it is, and never holds it. */
export interface SecretReference {
  readonly place: string;
  readonly reveal: () => string;
}
