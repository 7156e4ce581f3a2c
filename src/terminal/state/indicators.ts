/** The indicators of the chart and their parameters, as a browser keeps them. Pure: no page, no formulas. */

export interface Parameter {
  readonly fallback: number;
  readonly least: number;
  readonly most: number;
  /** Every value is a multiple of it. */
  readonly step: number;
}

const LONGEST = 500;
/** In candles. */
const length = (fallback: number, least = 1): Parameter => ({ fallback, least, most: LONGEST, step: 1 });
/** 0 = no such line. */
const furtherLength = (fallback: number): Parameter => length(fallback, 0);

/** Parameters by indicator, in the order of the menu. */
export const INDICATORS = {
  sma: [length(7), furtherLength(25), furtherLength(99)],
  ema: [length(9), furtherLength(21), furtherLength(0)],
  bollinger: [length(20, 2), { fallback: 2, least: 0.1, most: 10, step: 0.1 }],
  vwap: [],
  volumeAverage: [length(20)],
  rsi: [length(14)],
  macd: [length(12), length(26), length(9)],
  atr: [length(14)],
  stochastic: [length(14), length(3), length(3)],
} as const satisfies Readonly<Record<string, readonly Parameter[]>>;

export type IndicatorId = keyof typeof INDICATORS;
export const INDICATOR_IDS = Object.keys(INDICATORS) as IndicatorId[];
export const parametersOf = (id: IndicatorId): readonly Parameter[] => INDICATORS[id];

/** Values of the parameters, by indicator. */
export type IndicatorValues = Readonly<Record<IndicatorId, readonly number[]>>;

const valuesBy = (valuesOf: (id: IndicatorId) => readonly number[]): IndicatorValues =>
  Object.fromEntries(INDICATOR_IDS.map((id) => [id, valuesOf(id)])) as unknown as IndicatorValues;

export const DEFAULT_VALUES = valuesBy((id) => parametersOf(id).map(({ fallback }) => fallback));

/** 2.3 and 0.1 are no binary numbers: the quotient is nearly whole. */
const isStep = (value: number, step: number): boolean => Math.abs(value / step - Math.round(value / step)) < 1e-6;

export const isValidValue = (value: unknown, { least, most, step }: Parameter): value is number =>
  typeof value === "number" && value >= least && value <= most && isStep(value, step);

/** The ids in what the storage held, in the order of the menu. */
export const cleanIndicators = (stored: unknown): readonly IndicatorId[] =>
  INDICATOR_IDS.filter((id) => Array.isArray(stored) && stored.includes(id));

/** The values in what the storage held. An indicator with a value that is not valid has its defaults. */
export const cleanIndicatorValues = (stored: unknown): IndicatorValues =>
  valuesBy((id) => {
    const given: unknown = (stored as Record<string, unknown> | null | undefined)?.[id];
    const parameters = parametersOf(id);
    const isValid =
      Array.isArray(given) &&
      given.length === parameters.length &&
      parameters.every((parameter, index) => isValidValue(given[index], parameter));
    return isValid ? (given as number[]) : DEFAULT_VALUES[id];
  });
