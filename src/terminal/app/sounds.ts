import { onAccountMessage } from "../state/account.ts";
import { settings } from "../state/settings.ts";

/** Two short notes for each fill: they rise for a buy and fall for a sell. Made by the browser, without a file. */

const NOTES_HZ = { BUY: [660, 880], SELL: [660, 495] } as const;
const NOTE_SECONDS = 0.09;
const LOUDNESS = 0.08;
/** Fills come in bursts. */
const QUIET_MS = 200;

/** Made at the first sound: a browser lets a page make sounds only after a person has used it. */
let context: AudioContext | null = null;
let playedAtMs = Number.NEGATIVE_INFINITY;

export function openSounds(): void {
  onAccountMessage((message) => {
    const fill = message.channel === "fills" && message.type !== "SNAPSHOT" ? message.data[0] : undefined;
    if (fill !== undefined && settings.peek().sounds) playFill(fill.side);
  });
}

export function playFill(side: "BUY" | "SELL"): void {
  const nowMs = performance.now();
  if (nowMs - playedAtMs < QUIET_MS) return;
  playedAtMs = nowMs;
  try {
    context ??= new AudioContext();
    void context.resume();
    for (const [index, hertz] of NOTES_HZ[side].entries()) playNote(context, hertz, index * NOTE_SECONDS);
  } catch {
    // A browser without sound: the page says everything in words, too.
  }
}

function playNote(audio: AudioContext, hertz: number, afterSeconds: number): void {
  const start = audio.currentTime + afterSeconds;
  const tone = audio.createOscillator();
  const volume = audio.createGain();
  tone.frequency.value = hertz;
  volume.gain.setValueAtTime(LOUDNESS, start);
  volume.gain.exponentialRampToValueAtTime(0.0001, start + NOTE_SECONDS);
  tone.connect(volume).connect(audio.destination);
  tone.start(start);
  tone.stop(start + NOTE_SECONDS);
}
