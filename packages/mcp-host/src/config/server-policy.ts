import type { QuestionKind } from '@signalbox/protocol';
import type { McpServerConfig, ServerSharing } from './server-config.ts';

/** The policy of a server, with defaults for the settings that its configuration leaves out. */
export interface EffectivePolicy {
  share: ServerSharing;
  lazy: boolean;
  /** The idle time after which an instance is ended, in milliseconds; infinite if it is never ended for being idle. */
  keepAliveMs: number;
  /** The number of restarts in the window; infinite for a server that others run. */
  maxRestarts: number;
  restartWindowMs: number;
  /** The longest time that a call waits while the server is down, in milliseconds. */
  downWaitMs: number;
  /** The kinds of questions that are passed on to callers. */
  questions: readonly QuestionKind[];
}

/**
 * The kinds that are passed on unless a server's configuration names others. They do not include roots: some servers use their client's
 * roots as the folders that they may open, instead of those that the operator gave them.
 */
const defaultQuestions: readonly QuestionKind[] = ['elicitation', 'sampling'];

const minuteMs = 60_000;

/** Returns the policy of a server, with the defaults filled in. */
export function policyOf(config: McpServerConfig): EffectivePolicy {
  const {
    share = 'all',
    lazy = false,
    restartWindowMs = 5 * minuteMs,
    // A server elsewhere is down when its orchestrator has been away for a while already.
    downWaitMs = config.type === 'remote' ? 0 : 5_000,
    questions = defaultQuestions,
  } = config;
  const { maxRestarts = config.type === 'stdio' ? 5 : Number.POSITIVE_INFINITY } = config;
  const stays = (share === 'all' && !lazy) || config.keepAliveMs === 0;
  const keepAliveMs = stays ? Number.POSITIVE_INFINITY : (config.keepAliveMs ?? 5 * minuteMs);
  return { share, lazy, keepAliveMs, maxRestarts, restartWindowMs, downWaitMs, questions };
}
