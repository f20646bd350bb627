import { render } from 'preact';
import { startClock } from './model/clock.ts';
import { followRoute } from './model/route.ts';
import { startSession } from './model/session.ts';
import { Shell } from './shell.tsx';
import './style/page.css';

// The code of a link must be gone from the address before anything reads that.
const started = startSession();
followRoute();
// A new link that is opened in a page that is open already changes its address only.
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#code=')) location.reload();
});
startClock();
render(<Shell />, document.getElementById('page')!);
void started;
