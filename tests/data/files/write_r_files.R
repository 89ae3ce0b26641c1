# The files r_*: `Rscript write_r_files.R` in this folder writes them again. foreign and haven are packages of R.
set.seed(1)
n <- 400
people <- data.frame(
  age = sample(18:80, n, replace = TRUE),
  region = factor(sample(c("north", "south", "west"), n, replace = TRUE)),
  married = sample(c(TRUE, FALSE), n, replace = TRUE),
  educ.years = round(rnorm(n, 12, 3), 1)
)
people$pay <- round(1000 + 20 * people$age + 300 * (people$region == "south") + rnorm(n, 0, 50), 2)
people$educ.years[seq(5, n, 20)] <- NA
people$region[seq(7, n, 40)] <- NA
write.csv(people, "r_write_csv.csv")
write.csv2(people, "r_write_csv2.csv", row.names = FALSE)
foreign::write.dta(people, "r_foreign.dta")
names(people) <- gsub(".", "_", names(people), fixed = TRUE)
haven::write_dta(people, "r_haven.dta")
haven::write_sav(people, "r_haven.sav")
haven::write_xpt(transform(people, region = as.character(region)), "r_haven.xpt")
