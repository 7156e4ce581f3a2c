import { instruments } from "../state/markets.ts";
import { text } from "../text/catalogue.ts";
import { words } from "../text/format.ts";
import { type Filter, RANGES, type Range } from "./filter.ts";

/** The controls above a history. */
export function FilterBar(props: {
  /** Unique in the page. */
  id: string;
  filter: Filter;
  hasSymbols: boolean;
  kinds: readonly string[];
  /** The end of the range is before its beginning. */
  isBackwards: boolean;
  onChange: (filter: Filter) => void;
}) {
  const { id, filter, hasSymbols, kinds, isBackwards, onChange } = props;
  const change = (changed: Partial<Filter>): void => onChange({ ...filter, ...changed });
  return (
    <>
      {hasSymbols && (
        <select
          class="bare"
          aria-label={text.market}
          value={filter.symbol}
          onChange={(event) => change({ symbol: event.currentTarget.value })}
        >
          <option value="">{text.allMarkets}</option>
          {instruments.value.map(({ symbol }) => (
            <option value={symbol}>{symbol}</option>
          ))}
        </select>
      )}
      {kinds.length > 0 && (
        <select
          class="bare"
          aria-label={text.lists.kind}
          value={filter.kind}
          onChange={(event) => change({ kind: event.currentTarget.value })}
        >
          <option value="">{text.lists.allKinds}</option>
          {kinds.map((kind) => (
            <option value={kind}>{words(kind)}</option>
          ))}
        </select>
      )}
      <select
        class="bare"
        aria-label={text.lists.range}
        value={filter.range}
        onChange={(event) => change({ range: event.currentTarget.value as Range })}
      >
        {RANGES.map((range) => (
          <option value={range}>{text.lists.ranges[range]}</option>
        ))}
      </select>
      {filter.range === "custom" &&
        (["from", "to"] as const).map((name) => (
          <label class="muted moment">
            {text.lists[name]}{" "}
            <input
              type="datetime-local"
              min="2000-01-01T00:00"
              max="2999-12-31T23:59"
              value={filter[name]}
              aria-invalid={isBackwards}
              {...(isBackwards && { "aria-describedby": `${id}-range` })}
              onChange={(event) => change({ [name]: event.currentTarget.value })}
            />
          </label>
        ))}
      {isBackwards && (
        <span class="down" id={`${id}-range`} role="alert">
          {text.lists.backwards}
        </span>
      )}
    </>
  );
}
