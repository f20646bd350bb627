import type { BrokerClient } from '@signalbox/client';
import type { Orchestrator } from '@signalbox/orchestrator';
import type { HealthCheck, Readiness } from '@signalbox/serving/monitoring';
import type { Journal } from '@signalbox/store/journal';

/** The parts of a running orchestrator that tell whether it can serve calls. */
export interface HealthSources {
  client: Pick<BrokerClient, 'state'>;
  journal: Pick<Journal, 'failed'>;
  orchestrator: Pick<Orchestrator, 'status'>;
}

/** Knows whether an orchestrator can serve calls. It begins as `starting`. */
export class OrchestratorHealth {
  #sources: HealthSources | undefined;
  #phase: 'starting' | 'running' | 'draining' | 'failed' = 'starting';

  /** Notes that the orchestrator takes calls from now on. */
  started(sources: HealthSources): void {
    this.#sources = sources;
    this.#phase = 'running';
    void sources.journal.failed.then(() => {
      this.#phase = 'failed';
    });
  }

  /** Notes that the orchestrator stops. */
  draining(): void {
    if (this.#phase !== 'failed') this.#phase = 'draining';
  }

  /** The running orchestrator; undefined before it takes calls. */
  get sources(): HealthSources | undefined {
    return this.#sources;
  }

  /** Tells whether calls are served. */
  ready(): Readiness {
    switch (this.#phase) {
      case 'starting':
        return notReady('starting', 'the orchestrator waits for its broker');
      case 'draining':
        return notReady('draining', 'the orchestrator is stopping');
      case 'failed':
        return notReady(
          'journal_failed',
          'the journal of calls could not be written, and the orchestrator stops',
        );
      case 'running':
        return this.#sources?.client.state.name === 'ready'
          ? { ready: true }
          : notReady('broker_lost', 'the broker is away: calls wait until it is back');
    }
  }

  /** The lines of `/readyz?verbose`. A hosted server that fails affects only its own calls. */
  checks(): HealthCheck[] {
    const state = this.#sources?.client.state.name ?? 'connecting';
    const problems = this.#sources?.orchestrator.status().problems ?? [];
    return [
      { name: 'broker', ok: state === 'ready', detail: state },
      { name: 'servers', ok: problems.length === 0, detail: problems.join('; ') || 'no problem is known' },
    ];
  }
}

function notReady(code: string, reason: string): Readiness {
  return { ready: false, code, reason };
}
