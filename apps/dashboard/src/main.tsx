import { render } from 'preact';
import { startClock } from './model/clock.ts';
import { followRoute } from './model/route.ts';
import { startSignIn } from './model/sign-in.ts';
import { Shell } from './shell.tsx';
import './style/page.css';

// The code of a link must be removed from the address before anything reads the address.
const started = startSignIn();
followRoute();
// A new link in an already open page changes only its address.
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#code=')) location.reload();
});
startClock();
render(<Shell />, document.getElementById('page')!);
void started;
