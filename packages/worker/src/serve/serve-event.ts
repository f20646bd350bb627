import type { RunWarning } from '../runner/run-event.ts';

/** The outcome of a turn. */
export type TurnOutcome =
  /** Its final text was sent as the reply. */
  | 'answered'
  /** The agent replied by tool. */
  | 'answered_by_tool'
  /** It ended well, and no sender waited for a reply. */
  | 'done'
  /** The program failed, or could not be started. */
  | 'failed'
  /** A person denied what it needed, or its model refused: it is not tried again. */
  | 'denied'
  /** It took longer than its time limit, and was ended. */
  | 'timed_out'
  /** The sender withdrew the request, or its deadline passed. */
  | 'withdrawn'
  /** An operator stopped it: its messages are dead letters. */
  | 'stopped_by_operator'
  /** This process was asked to end, and did not wait any longer for the turn. */
  | 'stopped';

/** An event of a served agent. Times in milliseconds. */
export type ServeEvent =
  | { event: 'serving'; agent: string; role: string; pending: number; command: string }
  | {
      event: 'turn_started';
      agent: string;
      turn: number;
      /** Absent if an agent of another system takes the turn. */
      pid?: number;
      messages: TurnMessage[];
      /** True if the turn continues a session of its thread. */
      resumed: boolean;
      /** True if the process had taken the last turn of its thread, too. */
      kept?: true;
    }
  | {
      event: 'turn_ended';
      agent: string;
      turn: number;
      outcome: TurnOutcome;
      /** The exit code; `null` if a signal ended the program, or it never ran. */
      code: number | null;
      tookMs: number;
      /** The reason of a failure, as the broker gets it. */
      reason?: string;
      /** The end of the program's output, at most 64 KiB. */
      output: string;
    }
  /** A process that was kept for the next turn of its thread has ended. */
  | { event: 'kept_ended'; agent: string; pid: number; reason: string }
  /** The program fails on every message: its mail waits, and costs no attempts. The next turn begins after `nextTryMs` at the latest. */
  | { event: 'program_failing'; agent: string; reason: string; nextTryMs: number }
  /** A turn of a failing program has succeeded. */
  | { event: 'program_works'; agent: string }
  /** An earlier turn had answered the message, which was never acked: it was acked now. */
  | { event: 'already_answered'; agent: string; id: string; from: string }
  | { event: 'stopped'; agent: string; givenBack: number }
  | { event: 'warning'; agent: string; code: RunWarning | ServeWarning; message: string };

/** A message of a turn, as events name it. */
export interface TurnMessage {
  id: string;
  from: string;
  kind: string;
  attempt: number;
}

/** A reason for a warning of a served agent alone. */
export type ServeWarning =
  | 'asks_nobody'
  | 'inbox_in_use'
  | 'peer_away'
  | 'no_tools'
  | 'not_audited'
  | 'not_canceled'
  | 'session_lost'
  | 'session_not_kept'
  | 'no_token_yet'
  | 'output_not_kept'
  | 'answer_refused';
