import type { ServerState } from '../../host/host-api.ts';

/** How one instance fares. `restarts`: starts after the first; `upSinceMs`: on the host's monotonic clock. */
export interface InstanceReport {
  state: ServerState;
  pid: number | undefined;
  inFlight: number;
  restarts: number;
  upSinceMs: number | undefined;
  lastError: string | undefined;
}

/** What one instance is known to be like; texts are free of secrets. */
export class ServerCondition {
  state: ServerState = 'idle';
  /** What is the matter with it or its list now. */
  problem: string | undefined;
  lastError: string | undefined;
  starts = 0;
  upSinceMs = 0;

  /** Whether it was given up, or ended: nothing happens by itself. */
  get isParked(): boolean {
    return this.state === 'ejected' || this.state === 'needs_auth' || this.state === 'stopped';
  }

  begin(): void {
    this.state = 'starting';
    this.starts++;
  }

  becomeReady(nowMs: number): void {
    this.state = 'ready';
    this.upSinceMs = nowMs;
    this.problem = undefined;
  }

  fail(reason: string, what = 'not available'): void {
    this.lastError = reason;
    this.problem = `${what}: ${reason}`;
  }

  report(pid: number | undefined, inFlight: number): InstanceReport {
    const { state, lastError } = this;
    const restarts = Math.max(0, this.starts - 1);
    const upSinceMs = state === 'ready' ? this.upSinceMs : undefined;
    return { state, pid, inFlight, restarts, upSinceMs, lastError };
  }
}
