import { credentialHeader } from './credential.ts';
import { graphqlService } from './graphql.ts';
import { jsonRpcService } from './json-rpc.ts';
import { parseResponsePath } from './response-path.ts';
import { restService } from './rest.ts';
import type { AuthDocument, CapabilityDocument, ProviderDocument } from './schema.ts';
import type { Service } from './service.ts';
import type { TemplateReader } from './template-reader.ts';

/** Where a capability is served. */
export interface Provider {
  /** For people. */
  host: string;
  service: Service;
  auth: AuthDocument | undefined;
  /** Where `auth` stands in the document. */
  authPath: readonly PropertyKey[];
  /** Headers that no other origin may see. Lower case. */
  secretHeaders: readonly string[];
  responsePath: readonly string[] | undefined;
  timeoutMs: number;
}

const defaultTimeoutSeconds = 30;

/** The primary provider and its fallbacks, in this order. */
export function compileProviders(document: CapabilityDocument, reader: TemplateReader): Provider[] {
  const { primary, fallback = [] } = document.providers;
  const home = URL.parse(primary.config.base_url)!.origin;
  const inherited = (provider: ProviderDocument) =>
    URL.parse(provider.config.base_url)!.origin === home ? document.auth : undefined;
  return [primary, ...fallback].map((provider, at) => {
    const path = at === 0 ? ['providers', 'primary'] : ['providers', 'fallback', at - 1];
    const own = provider.auth !== undefined;
    const access = {
      auth: provider.auth ?? inherited(provider),
      authPath: own ? [...path, 'auth'] : ['auth'],
    };
    return compileProvider(provider, path, access, reader);
  });
}

function compileProvider(
  provider: ProviderDocument,
  path: readonly PropertyKey[],
  access: Pick<Provider, 'auth' | 'authPath'>,
  reader: TemplateReader,
): Provider {
  const { config } = provider;
  const at = [...path, 'config'];
  const headers = Object.keys(config.headers ?? {});
  const credential = access.auth && credentialHeader(access.auth);
  const doubled = headers.find((name) => name.toLowerCase() === credential);
  if (doubled !== undefined) {
    reader.refuse([...at, 'headers', doubled], 'is what auth sets; keep one of the two');
  }
  const { auth } = access;
  if (
    provider.service === 'rest' &&
    auth?.type === 'query' &&
    Object.hasOwn(provider.config.params ?? {}, auth.param)
  ) {
    reader.refuse([...at, 'params', auth.param], 'is what auth sets; keep one of the two');
  }
  const responsePath =
    config.response_path === undefined ? undefined : parseResponsePath(config.response_path);
  if (config.response_path !== undefined && !responsePath) {
    reader.refuse(
      [...at, 'response_path'],
      'must be a path as items[0].name, or a JSON pointer as /items/0/name',
    );
  }
  return {
    host: URL.parse(config.base_url)!.host,
    service: serviceOf(provider, reader, at),
    ...access,
    secretHeaders: [...headers.filter(isPrivate), ...(credential === undefined ? [] : [credential])],
    responsePath,
    timeoutMs: (config.timeout ?? defaultTimeoutSeconds) * 1_000,
  };
}

/** Only what every server may know goes along to another origin. */
function isPrivate(name: string): boolean {
  return !['accept', 'accept-language', 'content-type', 'user-agent'].includes(name.toLowerCase());
}

function serviceOf(provider: ProviderDocument, reader: TemplateReader, at: readonly PropertyKey[]): Service {
  switch (provider.service) {
    case 'rest':
      return restService(provider.config, reader, at);
    case 'graphql':
      return graphqlService(provider.config, reader, at);
    case 'jsonrpc':
      return jsonRpcService(provider.config, reader, at);
  }
}
