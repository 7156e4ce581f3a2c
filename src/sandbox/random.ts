/**
 * A small seeded generator (xoshiro128**, seeded through splitmix32). Streams of one seed with different names are
 * independent, so one bot's draws do not shift another's.
 */
export class Random {
  private readonly state = new Uint32Array(4);

  /** `seed` is a whole number from 0 to 2^32 − 1. */
  constructor(seed: number, stream = "") {
    let mixed = hash(stream) ^ seed;
    for (let i = 0; i < 4; i++) {
      mixed = (mixed + 0x9e3779b9) | 0;
      let z = mixed;
      z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
      z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
      this.state[i] = z ^ (z >>> 15);
    }
  }

  /** In [0, 1). */
  uniform(): number {
    return this.next() / 2 ** 32;
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.uniform();
  }

  chance(probability: number): boolean {
    return this.uniform() < probability;
  }

  /** Mean 0, variance 1 (Box and Muller). */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
  }

  exponential(mean: number): number {
    return -mean * Math.log(1 - this.uniform());
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.uniform() * from.length)];
  }

  private next(): number {
    const s = this.state as unknown as [number, number, number, number];
    const result = Math.imul(rotate(Math.imul(s[1], 5), 7), 9) >>> 0;
    const t = s[1] << 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 11);
    return result;
  }
}

const rotate = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits));

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value;
}
