import { withdrawOnSignal } from '../process/stop-signals.ts';
import { type ExitCode, exitCodes } from '../terminal/exit-codes.ts';
import { count, printJson, printLines, printNotes } from '../terminal/output.ts';
import { type ExaminationFlags, examine } from './examination.ts';
import { type CheckName, checkNames, type Finding } from './finding.ts';
import { thisMachine } from './machine.ts';

/** The options of `signalbox doctor`. */
export interface DoctorFlags extends ExaminationFlags {
  json?: boolean;
}

/** Examines this machine and prints what it finds. Returns the exit code: 1 if anything failed. */
export async function doctor(flags: DoctorFlags): Promise<ExitCode> {
  using withdrawal = withdrawOnSignal();
  const found: { check: CheckName; finding: Finding }[] = [];
  await examine(
    flags,
    thisMachine(),
    (check, finding) => {
      found.push({ check, finding });
      if (!flags.json) printLines(...findingLines(check, finding));
    },
    { signal: withdrawal.signal, onWait: (text) => !flags.json && printNotes(text) },
  );
  if (withdrawal.signal.aborted) return exitCodes.interrupted;
  const findings = found.map(({ finding }) => finding);
  const [failures, warnings] = [numberOf(findings, 'failed'), numberOf(findings, 'warning')];
  if (flags.json) {
    const checks = found.map(({ check, finding }) => ({ check, ...finding }));
    printJson({ ok: failures === 0, failed: failures, warnings, checks });
  } else {
    printLines('', summary(failures, warnings, new Set(found.map(({ check }) => check)).size));
  }
  return failures === 0 ? exitCodes.ok : exitCodes.failed;
}

const checkWidth = Math.max(...checkNames.map((name) => name.length)) + 2;
const statusWidth = 'warning'.length + 2;

/** Writes a finding on one line, with its fix on a second one. */
export function findingLines(check: CheckName, { status, text, fix }: Finding): string[] {
  const indent = ' '.repeat(statusWidth + checkWidth);
  return [
    `${status.padEnd(statusWidth)}${check.padEnd(checkWidth)}${text}`,
    ...(fix === undefined ? [] : [`${indent}fix: ${fix}`]),
  ];
}

function summary(failures: number, warnings: number, checks: number): string {
  if (failures + warnings === 0) return `all is fine: ${count(checks, 'check')}`;
  return `${failures} failed, ${count(warnings, 'warning')}`;
}

function numberOf(findings: readonly Finding[], status: Finding['status']): number {
  return findings.filter((finding) => finding.status === status).length;
}
