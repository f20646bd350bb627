import {
  agentOf,
  hostRole,
  isHostAgent,
  isPrivileged,
  type LaneCallsFrame,
  type OpenLaneFrame,
  type ServeLanesFrame,
  servesCalls,
} from '@signalbox/protocol';
import { judgeDeliver } from '../auth/role-policy.ts';
import type { Caller } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import { badField, forOrchestrators, type Outcome } from './outcome.ts';

/** Handles `serve_lanes`: notes where an orchestrator takes calls. */
export function serveLanes(
  { type, path }: ServeLanesFrame,
  caller: Caller,
  { lanes }: Pick<FrameDeps, 'lanes'>,
): Outcome {
  const { role } = caller.sender;
  if (!servesCalls(role)) return { refusal: forOrchestrators(type, role) };
  if (path !== undefined && !path.startsWith('/'))
    return { refusal: badField('path', 'it must be the absolute path of a Unix socket') };
  // The orchestrator without a label opens what it is given. Only a host that the broker sees on this machine may name a socket of it.
  if (role === hostRole && !caller.isOnUnixSocket) return undefined;
  lanes.serve(caller, path);
  return undefined;
}

/** Handles `open_lane`: introduces the caller to an orchestrator to which it may send tool calls. */
export function openLane(
  { request_id, to }: OpenLaneFrame,
  caller: Caller,
  { lanes, tokens }: Pick<FrameDeps, 'lanes' | 'tokens'>,
): Outcome {
  const verdict = judgeDeliver(caller, { kind: 'mcp_request', to }, tokens);
  if (typeof verdict === 'object') return { refusal: { code: 'forbidden', message: verdict.refusal } };
  const { role } = caller.sender;
  const isPassedOn = role === 'orchestrator' && isHostAgent(agentOf(to));
  // What operators and orchestrators ask is rare, and decided by facts of their tokens that lanes don't carry.
  const lane = isPrivileged(role) && !isPassedOn ? undefined : lanes.open(caller, to);
  return { answer: { type: 'lane_opened', request_id, ...(lane && { lane }) } };
}

/** Handles `lane_calls`: takes the report of an orchestrator about calls on its lanes. */
export function laneCalls(
  { type, begun, calls }: LaneCallsFrame,
  caller: Caller,
  { lanes }: Pick<FrameDeps, 'lanes'>,
): Outcome {
  const { role } = caller.sender;
  if (!servesCalls(role)) return { refusal: forOrchestrators(type, role) };
  lanes.report(caller, { begun, calls });
  return undefined;
}
