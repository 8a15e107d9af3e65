import { z } from 'zod';
import { azureAdapter } from '../clouds/azure/adapter.js';
import { bedrockAdapter } from '../clouds/bedrock/adapter.js';
import { requestSigner } from '../clouds/bedrock/request-signer.js';
import type { CloudVendor, SecretReference } from '../clouds/cloud-vendor.js';
import { publishers, vertexAdapter } from '../clouds/vertex/adapter.js';
import { tokenSigner } from '../clouds/vertex/token-signer.js';
import type { Credential } from '../routing/plan.js';
import type { RequestSigner, VendorAdapter } from '../vendor.js';
import type { Family } from '../wire/field-table.js';
import { assertNewVendor } from './catalogue.js';
import { modelFields, modelSchema, type ModelEntry, vendorName } from './model.js';
import { CatalogueError, checked, modest, parsed } from './models-file.js';

const reference = z.union([
  z.strictObject({ env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'is not a name of a variable') }),
  z.strictObject({ file: z.string().min(1).max(4096) }),
]);
export type Reference = z.output<typeof reference>;

/** Reads what a reference names. Throws where there is nothing; the message names the place. */
export type ResolveReference = (reference: Reference) => SecretReference;

const model = z.union([
  z.string().min(1).max(200),
  modelFields
    .omit({ vendor: true })
    .partial()
    .extend({
      id: z.string().min(1).max(200),
      /** A model of the catalogue whose price, window and capabilities this one has, where nothing else is said. */
      like: z.string().min(1).max(200).optional(),
    }),
]);
type GivenModel = z.output<typeof model>;

const name = vendorName;
const models = z.array(model).min(1).max(500);
const address = z.url({ protocol: /^https?$/ });
const segment = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be lower-case letters, digits and hyphens');
const listed = <Item extends z.ZodType>(item: Item) =>
  z.union([z.array(item).min(1).max(20), item.transform((one) => [one])]);

const azure = z.strictObject({
  name,
  kind: z.literal('azure_openai'),
  address,
  api_version: z
    .string()
    .regex(/^[0-9A-Za-z.-]{1,40}$/)
    .optional(),
  credentials: listed(z.strictObject({ api_key: reference })),
  models,
});
const bedrock = z.strictObject({
  name,
  kind: z.literal('bedrock'),
  region: segment,
  address: address.optional(),
  credentials: listed(
    z.union([
      z.strictObject({ api_key: reference }),
      z.strictObject({
        access_key_id: reference,
        secret_access_key: reference,
        session_token: reference.optional(),
      }),
    ]),
  ),
  models,
});
const vertex = z.strictObject({
  name,
  kind: z.literal('vertex'),
  publisher: z.enum(publishers).default('google'),
  project: z.string().regex(/^[a-z0-9:.-]{1,100}$/, 'is not the id of a project'),
  location: segment,
  address: address.optional(),
  credentials: listed(z.strictObject({ service_account: reference })),
  models,
});
const file = z.strictObject({
  vendors: z.array(z.discriminatedUnion('kind', [azure, bedrock, vertex])).max(50),
});
type GivenVendor = z.output<typeof file>['vendors'][number];

export interface VendorsFileParts {
  readonly resolve: ResolveReference;
  /** The models to which `like` refers. */
  readonly known: readonly ModelEntry[];
}

/** The vendors of a file, given as its text. */
export function parseVendorsFile(
  source: string,
  fileText: string,
  parts: VendorsFileParts,
): readonly CloudVendor[] {
  const { vendors } = checked(source, file, parsed(source, fileText));
  const names = new Set<string>();
  return vendors.map((given) => {
    if (names.has(given.name)) throw new CatalogueError(source, `two vendors have the name ${given.name}`);
    names.add(given.name);
    assertNewVendor(given.name, source);
    return {
      name: given.name,
      family: familyOf(given),
      adapter: adapterOf(given),
      credentials: credentialsOf(source, given, parts.resolve),
      models: given.models.map((one) => modelOf(source, given.name, one, parts.known)),
    };
  });
}

function adapterOf(given: GivenVendor): VendorAdapter {
  switch (given.kind) {
    case 'azure_openai':
      return azureAdapter(given.name, given.api_version);
    case 'bedrock':
      return bedrockAdapter(given.name);
    case 'vertex':
      return vertexAdapter(given.name, given.publisher);
  }
}

function familyOf(given: GivenVendor): Family {
  switch (given.kind) {
    case 'azure_openai':
      return 'openai';
    case 'bedrock':
      return 'bedrock';
    case 'vertex':
      return given.publisher;
  }
}

/** What distinguishes a credential of a vendor: a secret that is sent, or a signer. */
interface Authorization {
  readonly reveal: () => string | undefined;
  readonly signer?: RequestSigner;
}

function credentialsOf(source: string, given: GivenVendor, resolve: ResolveReference): readonly Credential[] {
  const found = authorizationsOf(source, given, resolve);
  return found.map((authorization, index) => ({
    id: `platform:${given.name}${found.length > 1 ? `:${index + 1}` : ''}`,
    vendor: given.name,
    payer: 'platform',
    baseUrl: addressOf(given),
    place: `the credentials ${index + 1} of ${given.name} in ${source}`,
    ...authorization,
  }));
}

function authorizationsOf(
  source: string,
  given: GivenVendor,
  resolve: ResolveReference,
): readonly Authorization[] {
  const read = (at: Reference): SecretReference => {
    try {
      return resolve(at);
    } catch (cause) {
      const problem = cause instanceof Error ? cause.message : 'a credential cannot be read';
      throw new CatalogueError(source, `${given.name}: ${problem}`);
    }
  };
  switch (given.kind) {
    case 'azure_openai':
      return given.credentials.map(({ api_key: key }) => ({ reveal: read(key).reveal }));
    case 'bedrock':
      return given.credentials.map((keys) =>
        'api_key' in keys
          ? { reveal: read(keys.api_key).reveal }
          : {
              reveal: () => undefined,
              signer: requestSigner(given.region, {
                accessKeyId: read(keys.access_key_id),
                secretAccessKey: read(keys.secret_access_key),
                sessionToken: keys.session_token === undefined ? undefined : read(keys.session_token),
              }),
            },
      );
    case 'vertex':
      return given.credentials.map(({ service_account: account }) => ({
        reveal: () => undefined,
        signer: tokenSigner(read(account)),
      }));
  }
}

function addressOf(given: GivenVendor): string {
  switch (given.kind) {
    case 'azure_openai':
      return given.address;
    case 'bedrock':
      return given.address ?? `https://bedrock-runtime.${given.region}.amazonaws.com`;
    case 'vertex': {
      const host = given.location === 'global' ? 'aiplatform' : `${given.location}-aiplatform`;
      const base = given.address ?? `https://${host}.googleapis.com`;
      return `${base.replace(/\/+$/, '')}/v1/projects/${given.project}/locations/${given.location}`;
    }
  }
}

function modelOf(
  source: string,
  vendor: string,
  given: GivenModel,
  known: readonly ModelEntry[],
): ModelEntry {
  const { like, ...entry }: Exclude<GivenModel, string> = typeof given === 'string' ? { id: given } : given;
  const prefix = `${vendor}.`;
  const plain = entry.id.startsWith(prefix) ? entry.id.slice(prefix.length) : entry.id;
  const base = like === undefined ? modest : known.find(({ id }) => id === like);
  if (base === undefined) throw new CatalogueError(source, `${vendor}: there is no model ${like} to be like`);
  return checked(source, modelSchema, {
    ...base,
    vendor_model: plain,
    ...entry,
    id: prefix + plain,
    vendor,
  });
}
