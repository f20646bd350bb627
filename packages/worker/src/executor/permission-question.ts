import type { AskPermissionRequest } from '@signalbox/protocol';
import type { ExecuteOptions } from './tool-call.ts';

/** A question of an agent's CLI: whether it may use a tool of its own with this input. */
export type PermissionQuestion = Omit<AskPermissionRequest, 'op'>;

/** How a question is asked, and who hears of it meanwhile. */
export type PermissionOptions = Omit<ExecuteOptions, 'timeoutMs' | 'meta'>;

/**
 * The longest time for which a question waits, in milliseconds, an absence of the orchestrator and a hold included. The configuration's
 * `approvals.deadlineMs`, which begins when the orchestrator has the question, is shorter as a rule.
 */
export const permissionTimeoutMs = 7 * 86_400_000;
