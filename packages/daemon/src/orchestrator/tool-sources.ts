import type { HostEvent, HttpServerConfig } from '@signalbox/mcp-host';
import type { CapabilityCatalog, CapabilityOptions } from '@signalbox/mcp-host/capability-files';
import { createGuardedFetch } from '@signalbox/mcp-host/guarded-fetch';
import {
  type Authorizer,
  createAuthorizer,
  hostsOfAuth,
  openRefreshTokenFiles,
} from '@signalbox/mcp-host/server-auth';
import type { ToolProvider } from '@signalbox/mcp-host/tool-calls';
import type { Config } from '../config/index.ts';
import { reloadObstacle } from '../config/internal.ts';
import { orchestratorFiles } from '../data-directory/data-directory.ts';

/** The capability files, and the access to servers that ask for a login; both end when it is disposed. */
export interface ToolSources extends AsyncDisposable {
  providers: ToolProvider[];
  authorizerFor: (name: string, config: HttpServerConfig) => Authorizer | undefined;
  /** Reads the capability files again. */
  reloadCapabilities: () => Promise<void>;
}

/**
 * Opens the capability files of a configuration and the access to servers that ask for a login. While another user could
 * change the capability files, they are read again only on request. `inForce` returns the configuration of that moment.
 */
export async function openToolSources(
  { capabilities, allowHosts }: Pick<Config, 'capabilities' | 'allowHosts'>,
  inForce: () => Config,
  dataDir: string,
  log: (event: HostEvent) => void,
): Promise<ToolSources> {
  await using opened = new AsyncDisposableStack();
  const tokens = openRefreshTokenFiles(orchestratorFiles(dataDir).signIns);
  let logged: string | undefined;
  const mayReload = (): boolean => {
    const obstacle = capabilities.length === 0 ? undefined : reloadObstacle(inForce(), capabilities);
    if (obstacle !== undefined && obstacle !== logged) {
      const message = `changes of capability files are put in force at SIGHUP or a restart only: ${obstacle}`;
      log({ event: 'capabilities_not_reloaded', message });
    }
    logged = obstacle;
    return obstacle === undefined;
  };
  // The reason is known from the start, not only when something has changed.
  mayReload();
  const catalog =
    capabilities.length === 0
      ? undefined
      : opened.use(await openFiles({ paths: capabilities, allowHosts, watch: true, mayReload, log }));
  const resources = opened.move();
  return {
    providers: catalog ? [catalog] : [],
    authorizerFor: (server, { url, auth }) => {
      if (!auth) return undefined;
      const hosts = [...allowHosts, ...hostsOfAuth(url, auth)];
      const fetch = resources.use(createGuardedFetch({ allowHosts: hosts }));
      return createAuthorizer({ server, url, auth, fetch, tokens, log });
    },
    reloadCapabilities: async () => catalog?.reload(),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Opens capability files. Most orchestrators have none, and need not load what reads them. */
async function openFiles(options: CapabilityOptions): Promise<CapabilityCatalog> {
  const { openCapabilities } = await import('@signalbox/mcp-host/capability-files');
  return await openCapabilities(options);
}
