/** One kind of attack, which one seed repeats as far as the machine allows: its inputs, not their timing. */
export interface FuzzStage {
  readonly name: string;
  /** Inputs of a whole run (`make fuzz`); in `make test` it is a share of them. */
  readonly runs: number;
  /** Throws at the first fault, and names the input that showed it. */
  run(seed: number, runs: number, say: (line: string) => void): Promise<void>;
}
