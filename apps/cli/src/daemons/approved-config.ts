import {
  changeObstacle,
  fileDigest,
  type ImportPath,
  readImportedFile,
} from '@signalbox/daemon/config/internal';
import { SignalboxError } from '@signalbox/protocol';

/** A configuration that the operator has put in force. */
export interface Approval {
  /** True if a hosted server could change its files. */
  isExposed: boolean;
  /** The files that it was read from by their absolute paths, each with a hash of what was read. */
  files: Readonly<Record<string, string>>;
  /** The parts of other clients' files among them, by absolute paths. */
  imports: readonly ImportPath[];
}

/**
 * The configuration that the operator has put in force, with what its files held then. A process that died is started again
 * without the operator, so it must not read what somebody else has written meanwhile.
 */
export class ApprovedConfig {
  #approval: Approval;

  constructor(approval: Approval) {
    this.#approval = approval;
  }

  /** Takes over a configuration that the operator has asked for. */
  approve(approval: Approval): void {
    this.#approval = approval;
  }

  /** Throws `SignalboxError` `exposed` if a file has changed, and somebody else than the user could have changed it. */
  check(): void {
    const { isExposed, files, imports } = this.#approval;
    const obstacle = changeObstacle(Object.keys(files), isExposed);
    if (obstacle === undefined) return;
    const changed = Object.entries(files).find(([file, state]) => stateOf(file, imports) !== state)?.[0];
    if (changed === undefined) return;
    throw new SignalboxError(
      'exposed',
      `${changed} has changed, and ${obstacle}: look at it, then kill -HUP ${process.pid} puts it in force`,
    );
  }
}

function stateOf(file: string, imports: readonly ImportPath[]): string {
  const pointers = imports.filter((path) => path.file === file).map(({ pointer }) => pointer);
  return pointers.length > 0 ? readImportedFile(file, pointers).state : fileDigest(file);
}
