import type { Config, ListenAddress } from '@signalbox/daemon/config';
import type { Approval } from './approved-config.ts';

/** The word that makes a process report a {@link UpPlan}. Only supervisors use it, so it is in no help. */
export const planCommand = 'up-plan';

/** The options of `signalbox up` from which its plan follows. */
export interface PlanRequest {
  config?: string;
  /** False if only the option and the environment name a configuration. */
  search: boolean;
  data?: string;
  listen?: string;
  allowExposed: boolean;
  insecure: boolean;
}

/** The parts of its configuration that `signalbox up` needs. */
export interface UpPlan {
  /** The configuration that was found, as it was named or found. */
  file?: string;
  dataDir: string;
  listen: ListenAddress;
  /** The address at which the face serves agents over HTTP, if it does. */
  http?: ListenAddress;
  /** The MCP servers by name. */
  servers: string[];
  /** Those of them that are started. */
  started: string[];
  /** The line that says why there is no configuration. */
  searched: string;
  /** The options with which another command in this directory finds this broker; none if it finds it by itself. */
  where: string[];
  /** Says which files of the configuration a hosted server could change, so that changes of them wait for SIGHUP. */
  exposed: string[];
  approval: Approval;
  /** The configuration of each child, with the parts that the child would read itself. */
  configs: { broker: Config; orchestrator: Config; face: Config; a2a?: Config };
}
