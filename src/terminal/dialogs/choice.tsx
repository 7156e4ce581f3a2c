interface ChoiceProps<T> {
  /** The name of the group, unique in the page. */
  name: string;
  label: string;
  options: readonly T[];
  value: T;
  textOf: (option: T) => string;
  onChoose: (option: T) => void;
  /** More CSS classes, of the group and of an option. */
  groupClass?: string;
  classOf?: (option: T) => string;
}

/** Radio buttons side by side. */
export function Choice<T extends string | number | boolean>(props: ChoiceProps<T>) {
  const { name, label, options, value, textOf, onChoose, groupClass = "", classOf = () => "" } = props;
  return (
    <div class={`sides ${groupClass}`} role="radiogroup" aria-label={label}>
      {options.map((each) => (
        <label key={String(each)} class={`side ${classOf(each)}`} data-on={value === each || undefined}>
          <input type="radio" name={name} class="hidden" checked={value === each} onChange={() => onChoose(each)} />
          {textOf(each)}
        </label>
      ))}
    </div>
  );
}
