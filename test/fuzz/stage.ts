/** One kind of randomised test. A seed repeats its inputs, but not their timing. */
export interface FuzzStage {
  readonly name: string;
  /** Inputs of a full run (`make fuzz`); `make test` runs a share of them. */
  readonly runs: number;
  /** Throws at the first fault and names its input. */
  run(seed: number, runs: number, say: (line: string) => void): Promise<void>;
}
