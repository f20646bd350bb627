import type { ExecutorOptions } from '@signalbox/worker';
import { authoritiesFor } from '../connection/authorities.ts';
import { brokerPlace, type ReadConfig } from '../connection/connection.ts';
import type { ConnectionFlags } from '../connection/named-identity.ts';

/** The options of a command that serves many agents, each with its own token. */
export interface FaceConnectFlags extends Omit<ConnectionFlags, 'tokenFile' | 'agent'> {
  orchestrator?: string;
  /** The longest time for one tool call, in milliseconds. */
  timeout: number;
}

/** The way of the agents of a face to their broker and orchestrator. Tokens come from their clients. */
type FaceConnect = Pick<ExecutorOptions, 'url' | 'insecure' | 'ca' | 'orchestrator' | 'timeoutMs'> &
  FacePorts;

type FacePorts = Pick<ExecutorOptions, 'fault' | 'tracing'>;

/** Returns the way of a face's agents to their broker and orchestrator. Throws as {@link brokerPlace} and {@link authoritiesFor}. */
export function faceConnect(flags: FaceConnectFlags, read: ReadConfig, ports: FacePorts): FaceConnect {
  const { url } = brokerPlace(flags, read);
  const authorities = authoritiesFor(url, flags, process.env);
  return {
    url,
    insecure: flags.insecure ?? false,
    ...(authorities && { ca: authorities.pem }),
    orchestrator: flags.orchestrator ?? read.config.orchestrator.id,
    timeoutMs: flags.timeout,
    ...ports,
  };
}
