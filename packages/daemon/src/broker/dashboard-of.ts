import type { Broker, HttpPages } from '@signalbox/broker';
import { agentOfToken, SignalboxError } from '@signalbox/protocol';
import type { ListedRoles } from '../config/internal.ts';
import type { BrokerAccess, Dashboard } from '../dashboard/index.ts';
import type { Log } from '../log.ts';

/** The parts of a dashboard beside its broker. */
interface DashboardParts {
  /** The agent id of the orchestrator. */
  orchestrator: string;
  /** Returns the roles that the configuration in force lists. */
  listed?: () => ListedRoles;
  /** The directory with the built page. */
  directory: string;
  log: Log;
}

/** Makes the dashboard of a broker. Its code is loaded when the first browser comes. */
export function dashboardOf(broker: Broker, parts: DashboardParts): HttpPages {
  let opening: Promise<Dashboard> | undefined;
  return {
    covers: (path) => path === '/ui' || path.startsWith('/ui/') || path.startsWith('/api/'),
    handle: async (...request) => {
      opening ??= open(broker, parts);
      await (await opening).handle(...request);
    },
    stop: () => void opening?.then((dashboard) => dashboard.stop()),
  };
}

async function open(
  broker: Broker,
  { orchestrator, listed, directory, log }: DashboardParts,
): Promise<Dashboard> {
  const [{ Dashboard, readPageFiles }, { connectBroker, requestAddress }] = await Promise.all([
    import('../dashboard/index.ts'),
    import('@signalbox/client'),
  ]);
  const connect = ({ token, agent }: { token: string; agent: string }) =>
    connectBroker({
      url: broker.url,
      insecure: true,
      openSocket: () => broker.openConnection(),
      token,
      agent: requestAddress(agent),
    });
  const access: BrokerAccess = {
    origins: () => broker.origins,
    codeFor: async (token) => {
      const agent = agentOfToken(token);
      if (agent === undefined)
        throw new SignalboxError('unauthorized', 'this is no token of a person or an agent');
      await using client = await connect({ token, agent });
      return (await client.admin('sign_in_link', {})).code;
    },
    signIn: (code) => broker.signIn(code),
    signOut: (token) => broker.signOut(token),
    signInOf: (token) => broker.signInOf(token),
    tokens: () => broker.tokens(),
    connect,
  };
  return new Dashboard({
    access,
    files: () => readPageFiles(directory),
    orchestrator,
    ...(listed && { listed }),
    log: ({ event, level, error }) =>
      log({ event, level, error, message: 'a request of the dashboard failed' }),
  });
}
