import type { ToolErrorCode } from '@signalbox/protocol';

/** The exit codes of every command; those of sysexits.h where one fits. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  /** `inbox --wait` found mail. Agent CLIs give the output of a hook with this code to their model. */
  newMail: 2,
  unreachable: 69,
  retryable: 75,
  notPermitted: 77,
  commandNotFound: 127,
  interrupted: 130,
} as const;

/** An exit code of a command. */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

const byCode: Readonly<Record<string, ExitCode>> = {
  usage: exitCodes.usage,
  bad_config: exitCodes.usage,
  bad_frame: exitCodes.usage,
  invalid_message: exitCodes.usage,
  insecure_listen: exitCodes.usage,
  bad_broker_url: exitCodes.usage,
  insecure_url: exitCodes.usage,
  untrusted_socket: exitCodes.usage,
  untrusted_certificate: exitCodes.usage,
  wrong_scheme: exitCodes.usage,
  bad_tls: exitCodes.usage,
  bad_data_directory: exitCodes.usage,
  exposed: exitCodes.usage,
  unreachable: exitCodes.unreachable,
  command_not_found: exitCodes.commandNotFound,
  unauthorized: exitCodes.notPermitted,
  forbidden: exitCodes.notPermitted,
  forged_sender: exitCodes.notPermitted,
  permission_denied: exitCodes.notPermitted,
} satisfies Record<string, ExitCode> & Partial<Record<ToolErrorCode, ExitCode>>;

/**
 * Returns the exit code for an error of a broker or a tool: by its code, else by whether trying again can help.
 * `interrupted` says that the work ended only because this process was asked to end.
 */
export function exitCodeOf(error: { code: string; retryable: boolean; interrupted?: unknown }): ExitCode {
  if (error.interrupted === true) return exitCodes.interrupted;
  return byCode[error.code] ?? (error.retryable ? exitCodes.retryable : exitCodes.failed);
}
