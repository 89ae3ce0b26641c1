"""Who gets how much of the budget: a public function of the (privately counted) size of the data.

Everything is measured by S = n·μ, the number of records times the total μ of Gaussian differential privacy: what the
data can carry at this budget. What the constants are worth, with each data set left out in turn: results/flagship/.
"""

from dataclasses import dataclass, replace

COUNT = 0.01  # of the budget, for the number of records
SMALLEST_SIZE = 40  # a smaller S gives a constant, as a table without columns does
# For the target of a constant: so much over S² of the budget, with an upper bound, for its median; fixed parts for its
# histogram and for a second count of records. The mean has the rest.
CONSTANT_MEDIAN, CONSTANT_HISTOGRAM, RECOUNT = (170, 0.35), 0.27, 0.05
# Below this S the scale of a target is hard to find, and the mean of a skewed one is lost on the way. So a look comes
# first: is the target 0 or 1? If so, counts of both replace its median and spread. The mean comes last. (Below the
# other bound noise would hide anything.)
LITTLE, TOO_LITTLE = 100, 8
LOOK, ZEROS_AND_ONES, MEAN_AT_END = (40, 0.04), (900, 0.30), (400, 0.06)
# In place of a constant's histogram: the median distance from the median, and a count of records about so far away.
MEDIAN_DISTANCE, NEAR_COUNT = (80, 0.20), (50, 0.06)
MOST_COLUMNS = 1000  # of the design, for the sake of time and memory
FEWEST_COLUMNS = 3
CAPACITY = 0.136  # the data can carry (CAPACITY·S)^(2/3) columns,
SCARCE = 0.036  # but not more than SCARCE·S
NEARLY_ALL = 0.7  # if they can carry this part of the columns, all are used and none is spent on choosing

# The target comes first, because without it nothing else can be read: (size/S)² of the budget, between two bounds.
TARGET_MEDIAN = (20, 0.007, 0.25)
TARGET_HISTOGRAM = (80, 0.04, 0.25)
TARGET_MEAN = (15, 0.002, 0.03)
# Of what is left for the columns and the regression:
SELECTION = 0.25  # if columns are chosen by ranks
SIDES = 0.15  # if by sides,
BALANCE = 0.007  # for which two sums are needed,
CENTRES = (170, 0.25)  # and the medians of all columns: 170/S² for each, if that is no more than 0.25 for all
MEDIANS = 0.035
HISTOGRAMS = 0.12
# If S is so small that scales would not be found, medians and histograms get more: 600/S² for each column, but not more
# than 0.4 of what they and the regression have together. On random parts of tables with S near 100 this is worth 0.05.
COLUMN_SCALES = (600, 0.4)
# Of what is left for the regression: histograms of lengths, for the clips of phases 2 and 3, and two sums that tell how
# good the model is.
LENGTHS = (0.02, 0.04)
QUALITY = 0.02
# Of the rest, in each phase, and of that for Σ u·uᵀ in the first two and in the last: for few columns and for many, as
# p^1.5/S goes from one of the ends to the other.
FEW_PHASES, MANY_PHASES = (0.25, 0.25, 0.50), (0.30, 0.25, 0.45)
FEW_PRODUCTS, MANY_PRODUCTS = 0.40, 0.45
LAST_PRODUCTS = 0.12
MANY = (0.02, 0.06)
# If there are many more columns than the data can carry, and they are alike, all are used together: as weighted sums.
MANY_MORE = 20  # times what the data can carry,
TELLS_ALIKE = 200  # if S is so large that noise hardly hides whether they are alike
COMMON_MEDIAN = (500, 0.03)  # for the centre that they share, 500/S² of the budget, but not more than this,
COMMON_HISTOGRAM = (6000, 0.04)  # and for their spread
ROUND = 60  # one weighted sum, and one more for each so much of S,
MOST_ROUNDS = 8
# One column, or from this S on two, stands alone, too, in case it tells nearly all: chosen with this part of what is
# left, and with a centre and a spread of its own.
TWO_SINGLE, CHOICE = 300, 0.02
# Parts of the rest: in all rounds for gradients, for the sizes of the weighted sums, and for a phase of least squares;
# then for the last phase. Its histogram of lengths has the remainder.
TOGETHER = (0.57, 0.06, 0.22, 0.12)
TOGETHER_PRODUCTS = 0.3
# If public rows give the first frame, the first phase has to tell only what to choose next.
PUBLIC_PHASES, PUBLIC_PRODUCTS = (0.10, 0.40, 0.50), (0.10, 0.30, LAST_PRODUCTS)


@dataclass(frozen=True)
class Schedule:
    """Number of columns to use, and parts of the budget. They add up to 1."""

    columns: int
    capacity: int  # how many columns the data could carry
    target_median: float
    target_histogram: float
    target_mean: float
    look: float = 0.0  # whether the target consists of zeros and ones,
    zeros_and_ones: float = 0.0  # and, if it seems so, for counts of them: taken off all that follows
    target_distance: float = 0.0  # of a constant, from the median,
    target_near: float = 0.0  # and a count of records about so far away
    mean_at_end: float = 0.0  # of the residuals
    recount: float = 0.0
    selection: float = 0.0
    by_sides: bool = False  # whether columns are chosen by the sides of their centres, which are found first
    balance: float = 0.0
    searched: int = 0  # columns, at most, whose centre has to be found
    unknown: int = 0  # and whose spread
    medians: float = 0.0
    histograms: float = 0.0
    common: tuple[float, float] = (0.0, 0.0)  # for a centre and a spread of all columns together
    rounds: int = 0  # in each of which a weighted sum of all columns joins the model
    gradient: float = 0.0  # of each round
    sizes: float = 0.0  # of its weighted sum, in each round
    lengths: tuple[float, ...] = (0.0, 0.0, 0.0)  # of residuals, in each phase
    quality: float = 0.0  # each of two sums
    stage: str = "phase"  # what a phase is called
    phases: tuple[float, ...] = (0.0, 0.0, 0.0)
    products: tuple[float, ...] = (0.0, 0.0, 0.0)  # of each phase

    @property
    def target(self) -> float:
        """Median, spread and mean of the target together."""
        spread = self.target_histogram + self.target_distance + self.target_near
        return self.target_median + spread + self.target_mean

    @property
    def total(self) -> float:
        return COUNT + self.look + self.target + self.recount + sum(self.common) + self.left

    @property
    def left(self) -> float:
        """After the target, and a look at whether columns are alike."""
        columns = self.selection + self.balance + self.medians + self.histograms
        together = self.rounds * (self.gradient + self.sizes)
        return columns + together + sum(self.lengths) + 2 * self.quality + sum(self.phases) + self.mean_at_end


OF_SCALE = ("target_median", "target_distance", "target_near", "target_histogram")
LATER = ("target_mean", "selection", "balance", "medians", "histograms", "quality", "mean_at_end")


def make_schedule(
    size: float,
    available: int,
    wanted: int | None,
    known: int = 0,
    public: bool = False,
    *,
    sampled: bool = False,
    centred: int = 0,
) -> Schedule:
    """For data of this size with `available` columns, of which a user wants at most `wanted`.

    The scales of `known` columns need not be found: they are levels of which it is known how many records have them.
    Of `centred` further ones the centre is known. With `public` rows no scale has to be found. Columns are chosen by
    sides if the centres of all can be found, unless they are to be chosen on a sample, which is ranked.
    """
    if size < SMALLEST_SIZE or not available:
        return for_a_constant(size)
    capacity = min(int(min((CAPACITY * size) ** (2 / 3), SCARCE * size)), MOST_COLUMNS)
    columns = min(available, max(FEWEST_COLUMNS, capacity))
    if columns >= NEARLY_ALL * available and available <= MOST_COLUMNS:
        columns = available
    columns = min(columns, wanted or columns)
    unknown = 0 if public else min(columns, available - known)
    median, histogram, mean = (
        min(max((enough / size) ** 2, low), high)
        for enough, low, high in (TARGET_MEDIAN, TARGET_HISTOGRAM, TARGET_MEAN)
    )
    look = zeros_and_ones = at_end = 0.0
    if size < LITTLE:
        look, zeros_and_ones, at_end = (inverse_square(part, size) for part in (LOOK, ZEROS_AND_ONES, MEAN_AT_END))
        mean = 0.0
    common = (0.0, 0.0)
    many_more = known < available and MANY_MORE * columns <= available <= MOST_COLUMNS
    if many_more and size >= TELLS_ALIKE and wanted is None and not public:
        common = inverse_square(COMMON_MEDIAN, size), inverse_square(COMMON_HISTOGRAM, size)
    rest = 1 - COUNT - look - median - histogram - mean - at_end - sum(common)
    enough, most = CENTRES
    searched = 0 if public else available - known - centred
    all_centres = searched * enough / size**2 / rest
    by_sides = columns < available and all_centres <= most and not sampled
    selection = 0.0 if columns == available else SIDES if by_sides else SELECTION
    balance = BALANCE if by_sides else 0.0
    scales = unknown / columns if columns else 0.0
    medians, histograms = MEDIANS * scales, HISTOGRAMS * scales
    enough, most = COLUMN_SCALES
    needed = min(most * (1 - selection), unknown * enough / size**2 / rest)
    if by_sides:
        medians, histograms = max(medians, all_centres), max(histograms, needed / 2)
    elif needed > medians + histograms:
        medians = histograms = needed / 2
    regression = 1 - selection - balance - medians - histograms
    crowded = (PUBLIC_PHASES, PUBLIC_PRODUCTS) if public else phase_shares(size, columns)
    left = rest * regression
    return Schedule(
        columns,
        capacity,
        median,
        histogram,
        mean,
        look,
        zeros_and_ones,
        mean_at_end=at_end,
        selection=rest * selection,
        by_sides=by_sides,
        balance=rest * balance,
        searched=searched if by_sides else unknown,
        unknown=unknown,
        medians=rest * medians,
        histograms=rest * histograms,
        common=common,
        lengths=(0.0, left * LENGTHS[0], left * LENGTHS[1]),
        quality=left * QUALITY,
        phases=tuple(left * (1 - sum(LENGTHS) - 2 * QUALITY) * phase for phase in crowded[0]),
        products=crowded[1],
    )


def for_a_constant(size: float) -> Schedule:
    """For a model without columns."""
    median, histogram = inverse_square(CONSTANT_MEDIAN, size), CONSTANT_HISTOGRAM
    look = zeros_and_ones = distance = near = 0.0
    if TOO_LITTLE <= size < LITTLE:
        look, zeros_and_ones = inverse_square(LOOK, size), inverse_square(ZEROS_AND_ONES, size)
    if size < LITTLE:
        histogram, distance, near = 0.0, inverse_square(MEDIAN_DISTANCE, size), inverse_square(NEAR_COUNT, size)
    mean = 1 - COUNT - RECOUNT - look - median - histogram - distance - near
    return Schedule(0, 0, median, histogram, mean, look, zeros_and_ones, distance, near, recount=RECOUNT)


def rescaled(schedule: Schedule, left: float, *, scale_known: bool) -> Schedule:
    """The schedule after a look at the target, in proportion to what is left. A scale that is known gets nothing."""
    rest = schedule.left + schedule.target_mean
    more = left / (rest if scale_known else schedule.left + schedule.target)
    factors = dict.fromkeys(OF_SCALE, 0.0 if scale_known else more) | dict.fromkeys(LATER, more)
    return replace(
        schedule,
        look=0.0,
        zeros_and_ones=0.0,
        lengths=tuple(part * more for part in schedule.lengths),
        phases=tuple(part * more for part in schedule.phases),
        **{name: getattr(schedule, name) * factor for name, factor in factors.items()},
    )


def inverse_square(part: tuple[float, float], size: float) -> float:
    """Of the budget: so much over S², but not more than a bound."""
    enough, most = part
    return min(enough / max(size, 1e-9) ** 2, most)


def together(schedule: Schedule, size: float) -> Schedule:
    """The same for columns that are alike: what is left goes to weighted sums of all of them."""
    rounds = min(1 + int(size / ROUND), MOST_ROUNDS)
    single = 1 if size < TWO_SINGLE else 2
    medians, histograms = (inverse_square((single * enough, most), size) for enough, most in (CENTRES, COLUMN_SCALES))
    gradients, sizes, phases, last = TOGETHER
    left = schedule.left * (1 - single * CHOICE - medians - histograms - 2 * QUALITY)
    return replace(
        schedule,
        columns=single,
        selection=schedule.left * single * CHOICE,
        by_sides=False,
        balance=0.0,
        searched=single,
        unknown=single,
        medians=schedule.left * medians,
        histograms=schedule.left * histograms,
        rounds=rounds,
        gradient=left * gradients / rounds,
        sizes=left * sizes / rounds,
        quality=schedule.left * QUALITY,
        stage="round",
        lengths=(*([0.0] * rounds), left * (1 - sum(TOGETHER))),
        phases=(*([left * phases / rounds] * rounds), left * last),
        products=(*([TOGETHER_PRODUCTS] * rounds), LAST_PRODUCTS),
    )


def phase_shares(size: float, columns: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Parts of the phases, and in each of them of the products."""
    low, high = MANY
    many = min(max(((columns + 1) ** 1.5 / size - low) / (high - low), 0.0), 1.0)
    phases = tuple((1 - many) * few + many * more for few, more in zip(FEW_PHASES, MANY_PHASES, strict=True))
    products = (1 - many) * FEW_PRODUCTS + many * MANY_PRODUCTS
    return phases, (products, products, LAST_PRODUCTS)
