import { SignalboxError } from '@signalbox/protocol';
import type { AuthDocument } from '../secrets/auth-schema.ts';
import { credentialHeader } from '../secrets/credential.ts';
import { readSecret, type SecretSources } from '../secrets/secret.ts';
import type { Service, ServiceKind } from '../services/service.ts';
import { serviceKinds } from '../services/service-kinds.ts';
import type { TemplateCompiler } from '../templates/template-compiler.ts';
import { parseValuePath } from '../templates/value-path.ts';
import type { CapabilityDocument, ProviderDocument } from './capability-document.ts';

/** A service that provides a capability, with the access to it. */
export interface Provider {
  /** The host of its URL, for messages. */
  host: string;
  service: Service;
  auth: AuthDocument | undefined;
  /** The path to `auth` in the document. */
  authPath: readonly PropertyKey[];
  /** Headers that are not sent to another origin. */
  secretHeaders: readonly string[];
  /** The steps to the part of an answer that is the result; `undefined` if the whole answer is. */
  responsePath: readonly string[] | undefined;
  timeoutMs: number;
}

const defaultTimeoutSeconds = 30;

/** Compiles the primary provider and its fallbacks, in this order. Fallbacks of the same origin inherit the tool's `auth`. */
export function compileProviders(document: CapabilityDocument, templates: TemplateCompiler): Provider[] {
  const { primary, fallback = [] } = document.providers;
  const originOf = ({ config }: ProviderDocument) => URL.parse(config.base_url)!.origin;
  return [primary, ...fallback].map((provider, at) => {
    const path = at === 0 ? ['providers', 'primary'] : ['providers', 'fallback', at - 1];
    const access = provider.auth
      ? { auth: provider.auth, authPath: [...path, 'auth'] }
      : { auth: originOf(provider) === originOf(primary) ? document.auth : undefined, authPath: ['auth'] };
    return compileProvider(provider, [...path, 'config'], access, templates);
  });
}

/** Compiles one provider. `path` leads to its `config`. */
function compileProvider(
  provider: ProviderDocument,
  path: readonly PropertyKey[],
  access: Pick<Provider, 'auth' | 'authPath'>,
  templates: TemplateCompiler,
): Provider {
  const { config } = provider;
  checkDoubledCredential(provider, path, access.auth, templates);
  const credential = access.auth && credentialHeader(access.auth);
  const privateHeaders = Object.keys(config.headers ?? {}).filter(isPrivate);
  const kind: ServiceKind<ProviderDocument['config']> = serviceKinds[provider.service];
  const responsePath = config.response_path === undefined ? undefined : parseValuePath(config.response_path);
  if (config.response_path !== undefined && !responsePath) {
    const forms = 'a path as items[0].name, or a JSON pointer as /items/0/name';
    templates.report([...path, 'response_path'], `must be ${forms}`);
  }
  return {
    host: URL.parse(config.base_url)!.host,
    service: kind.compile(config, templates, path),
    ...access,
    secretHeaders: credential === undefined ? privateHeaders : [...privateHeaders, credential],
    responsePath,
    timeoutMs: (config.timeout ?? defaultTimeoutSeconds) * 1_000,
  };
}

/** Refuses a header, or a parameter of the query, that `auth` sets as well. */
function checkDoubledCredential(
  provider: ProviderDocument,
  path: readonly PropertyKey[],
  auth: AuthDocument | undefined,
  templates: TemplateCompiler,
): void {
  if (!auth) return;
  const names = Object.keys(provider.config.headers ?? {});
  const header = names.find((name) => name.toLowerCase() === credentialHeader(auth));
  const params = provider.service === 'rest' ? (provider.config.params ?? {}) : {};
  const param = auth.type === 'query' && Object.hasOwn(params, auth.param) ? auth.param : undefined;
  const message = 'is what auth sets; keep one of the two';
  if (header !== undefined) templates.report([...path, 'headers', header], message);
  if (param !== undefined) templates.report([...path, 'params', param], message);
}

/** Tells whether a header is withheld from other origins. Only the general headers are sent there. */
function isPrivate(name: string): boolean {
  return !['accept', 'accept-language', 'content-type', 'user-agent'].includes(name.toLowerCase());
}

/** Reports a secret that can't be read. */
export function checkSecret(
  { auth, authPath }: Provider,
  secrets: SecretSources,
  templates: TemplateCompiler,
): void {
  try {
    if (auth) readSecret(auth.key, secrets);
  } catch (error) {
    if (!(error instanceof SignalboxError)) throw error;
    templates.report([...authPath, 'key'], error.message);
  }
}
