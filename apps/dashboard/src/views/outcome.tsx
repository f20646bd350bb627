import { StateMark, type Tone } from '../parts/state-mark.tsx';

const tones: Readonly<Record<string, Tone>> = {
  ok: 'good',
  acked: 'good',
  running: 'busy',
  waiting: 'quiet',
  queued: 'quiet',
  held: 'soon',
  awaiting_approval: 'soon',
  pending: 'soon',
  approved: 'good',
  input_required: 'quiet',
  cancelled: 'quiet',
  expired: 'soon',
};

/** Shows how a message or a call ended, or that it has not. A call that may have run is highlighted. */
export function Outcome({ of }: { of: string }) {
  const tone = tones[of] ?? 'bad';
  return <StateMark tone={tone}>{of.replaceAll('_', ' ')}</StateMark>;
}
